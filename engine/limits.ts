/** Every limit, constant and back-off curve of Millrace; the unit stands last in each name (STYLE 8, 16). */

/** A curve of waits: exponential from `firstMs` to `lastMs`; `jitter` full = anywhere below, else ± that share. */
export type BackOff = { firstMs: number; lastMs: number; jitter: 'full' | number }

/** DESIGN §9: links to brokers. */
export const linkBackOff: BackOff = { firstMs: 100, lastMs: 10_000, jitter: 'full' }
/** DESIGN §9: a unit that starts again, a request that a broker cannot serve for now. */
export const unitBackOff: BackOff = { firstMs: 1_000, lastMs: 60_000, jitter: 0.2 }

/** How long to wait before try number `tries` (1 = the first repeat). `chance` gives 0 ≤ x < 1. */
export function backOffMs(curve: BackOff, tries: number, chance: () => number): number {
  const whole = Math.min(curve.lastMs, curve.firstMs * 2 ** Math.min(30, Math.max(0, tries - 1)))
  if (curve.jitter === 'full') return Math.round(whole * chance())
  return Math.round(whole * (1 - curve.jitter + 2 * curve.jitter * chance()))
}

// Memory (KAFKA-CLIENT W-30 … W-32, W-71)
export const memoryBytesMax = 48 * 1024 * 1024
/** What `worker.memoryBytesMax` may be: room for a slab and what is copied out of it, and no machine has more. */
export const workerBytesMin = 16 * 1024 * 1024
export const workerBytesMax = 1024 ** 4
export const slabBytes = 10 * 1024 * 1024
export const slabFrameBytesMin = 256 * 1024
export const slabCopyAfterMs = 1_000
export const windowBytesMax = 8 * 1024 * 1024
export const frameBytesMax = 128 * 1024 * 1024
export const readScratchBytes = 64 * 1024

// Links (W-20, W-21, W-23, W-24)
export const connectTimeoutMs = 10_000
export const loginTimeoutMs = 20_000
export const controlTimeoutMs = 30_000
export const fetchGraceMs = 30_000
export const produceTimeoutMs = 30_000
export const produceGraceMs = 10_000
export const keepAliveMs = 30_000
export const sessionSwapShare = 0.8
export const sessionSwapJitter = 0.1
export const controlInFlightMax = 5
/** Links change to a new credential within so long; 600 s of CREDENTIALS §2 are for the many workers of a fleet. */
export const reauthSpreadMs = 10_000
/**
 * A kafkajs admin client unused for so long is closed (W-3): idle it burns a timer each millisecond, 3.6 % of a core,
 * and settings are looked at each minute.
 */
export const adminIdleMs = 1_000
export const adminTimeoutMs = 30_000
/** Topics whose configs are read with one request (W-77). */
export const describeTopicsMax = 100
/** How long before its session ends kafkajs logs in anew; its own 10 s would do so at once in short sessions, and be refused. */
export const adminReauthenticateMs = 1_000

// Fetch (W-40, W-41, W-15)
export const fetchBytesMax = 8 * 1024 * 1024
export const fetchPartitionBytesMax = 1024 * 1024
export const fetchBytesMin = 1
export const fetchWaitMaxMs = 500
/** Long poll while another partition of the broker is only over its window: it must not wait for a quiet one. */
export const fetchWaitFullMs = 50
export const corruptTriesMax = 3
/** How often metadata is read again although nothing asked for it; where fetch or produce go by name (W-45). */
export const metadataByNameRefreshMs = 10_000

// Produce (W-50)
export const produceBytesMax = 4 * 1024 * 1024
export const produceInFlightMax = 5
/** How often requests that the kernel has not taken are looked at. */
export const writeLookMs = 1_000
/** Of a producer a broker knows the last five batches of a partition: an older repeat looks like a gap to it (W-51). */
export const producerBatchesKnownMax = 5
export const unknownErrorTriesMax = 3
/** How soon a lane asks again whether it may write, when the lease said no. */
export const mayWriteAgainMs = 100
/** After so long without an answer the broker may have forgotten our producer: one batch goes alone first. */
export const producerProvenMs = 60 * 60 * 1_000
/** A written batch without an answer for so long is trouble, long before the request's own time-out. */
export const answerLateMs = 5_000

// Offsets (W-62, W-75)
export const commitJoinMs = 50
export const commitPartitionsMax = 4_000
export const checkpointIntervalMs = 1_000
export const checkpointAgainMs = 12 * 60 * 60 * 1_000

/** What the records of one batch may be when they are decompressed: a few bytes may claim gigabytes. */
export const recordsBytesMax = 256 * 1024 * 1024

// One-pass CRC pays from here on (W-15)
export const onePassBytesMin = 8 * 1024

// Units (MIRROR M-90, M-93)
export const troubleShownAfterMs = 5_000
export const blockedAfterMs = 60_000
export const stalledAfterMs = 300_000
export const clusterUnreachableMs = 30_000
/** How often each unit of a worker is looked at: trouble, states, rates. */
export const unitLookMs = 1_000
/** A rate is that of the last one to two such spans: `/stats` is written as often (C-30), and misses no byte. */
export const unitRateMs = 10_000
/** A unit that has left and is not back after so long is forgotten, with its counts. */
export const unitForgottenMs = 24 * 60 * 60 * 1_000
/** Batches below this are joined when many stand in a row (M-38): a request carries one batch of a partition. */
export const joinedBatchBytesMax = 4_096
export const joinBytesMax = 131_072
/** Fewer in a row go as they came. */
export const joinBatchesMin = 8
/** Keys and values that are opened to be joined; more go as they came. */
export const joinRecordsBytesMax = 4 * 1024 * 1024
/** A batch that the destination calls damaged is read and sent again so often (M-47). */
export const damagedTriesMax = 3
/** On a stop, what is under way may take so long; the rest of the stop is for the last commit. */
export const stopDrainMs = 20_000
/** How often metadata is read for new topics and partitions (M-12). */
export const topicsRefreshMs = 10_000
/** A topic that is not there for so long is gone for a copy until the end: three looks in a row (M-14). */
export const topicGoneMs = 3 * topicsRefreshMs
/** Upper bounds of the classes of added latency (M-96), of hand-overs and of rounds (COORDINATION §9). */
export const latencyBoundsMs = [1, 2, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 30_000]
/** A commit without an answer for so long is given up for a newer one. */
export const commitGiveUpMs = 10_000
/** Commits after which a unit that leaves is let go without its last checkpoint stored. */
export const settleTriesMax = 3
/** How often a command looks whether somebody else moves its checkpoints (M-100). */
export const checkpointsCompareMs = 10_000

// Processes and log lines (DESIGN §9, LOGS L-1 … L-12)
export const stopTimeoutMs = 30_000
export const stopReserveMs = 5_000
/** What has not let go so long after it was told to wait no longer is left behind. */
export const abortGraceMs = 2_000
/** C-2. */
export const processIdCharactersMax = 64
export const logLineBytesMax = 8_192
/** Of the message of an error in a line that had to be cut to what is known (L-4). */
export const logErrMessagePointsMax = 512
export const logMarkMs = 60_000
export const logSeqMax = 9_999_999_999
export const logBufferBytesMax = 8 * 1024 * 1024
export const logFlushAtExitMs = 2_000
export const logWriteBytesMax = 16 * 1024
/** How soon a full pipe is written to again. */
export const logWriteAgainMs = 20

// Selection (MIRROR M-10)
export const patternsMax = 200
/** Names that a hint gives for one that is not there. */
export const nearNamesMax = 3
export const patternCharactersMax = 1_000

// Verification (MIRROR M-101)
export const verifyLookAheadRecordsMax = 100_000
/** Keys of a compacted topic that are compared at once; above it both sides are read again for the rest. */
export const verifyKeysMax = 200_000
/** How often a reader that waits looks whether its stream is in trouble. */
export const troubleLookMs = 1_000

// Chores of a flow (COORDINATION C-91, C-94)
/** What cannot be mended by trying again soon: a refused right of another kind, a bad setting. */
export const slowBackOff: BackOff = { firstMs: 60_000, lastMs: 60 * 60_000, jitter: 0.2 }
/** A flow is steered again so often although nothing was seen anew. */
export const steerMs = 1_000
/** A fault that goes on is said again after so long. */
export const saidAgainMs = 60_000
/** Pieces of one action: some seconds' work. */
export const actionTopicsMax = 100
/** A new owner stores its checkpoints for so long although they have not changed: a late commit is buried (C-11). */
export const ownerCommitsMs = 60_000

// Provenance (MIRROR M-21, §3.3)
/** Below what a topic takes by default, 1 MiB. */
export const provenanceBatchBytesMax = 900 * 1024
/** What was there when the ends were read comes at once; later than the patience of a stream, which tells why. */
export const provenanceSilenceMs = 40_000

/** A flow that has to give way is waited for: so long its write of having begun may be under way, and a bit. */
export const rivalWaitMs = 60_000

// Leader's side of a mirror (MIRROR M-14, M-25)
/** A topic that is absent in so many looks in a row is deleted. */
export const topicGoneLooks = 3
export const configsLookMs = 60_000
/** What one OffsetCommit holds (M-70, W-75). */
export const firstStartsMax = commitPartitionsMax
/** A chore that gets no answer for so long is set aside. */
export const performTimeoutMs = 30_000

// Credentials (CREDENTIALS K-13 … K-15, §3.1)
export const secretBytesMax = 65_536
export const secretLookMs = 5_000
/** What is shorter stands in too many other words to be replaced. */
export const redactedCharactersMin = 8

// Configuration (DESIGN §7)
/** Longer words are compared with nothing when somebody is told what he may have meant. */
export const wordCharactersMax = 80
export const configPartitionMax = 99_999
export const configDepthMax = 100
export const configBytesMax = 1024 * 1024
export const configLookMs = 1_000
/** DESIGN §4: an edited file is taken in so long after its last change. */
export const configSettledMs = 2_000
export const configShownCharactersMax = 60
export const tagsMax = 50
export const tagCharactersMax = 64

// Planner (COORDINATION §5)
export const planMovesMax = 50
/** Loads within this factor of an even share are left alone. */
export const planHysteresis = 1.2
/** Two workers are even when they differ by no more than this part of the share. */
export const planSettle = 0.02
/** A move that evens out less than this part of the share is none. */
export const planGainMin = 0.05
/** Of a worker without a word of its own (C-53, C-54): 1000 for each processor of a container. */
export const workerCapacity = 1_000
export const workerUnitsMax = 20_000
export const weightAverageMs = 120_000

// Coordination (COORDINATION §7)
/** Of all that one write carries: a packet over the limit of the server, 1 MiB, ends the connection (C-70). */
export const coordinationBytesMax = 1_000_000
/** What an operation takes besides its path and data: versions, lengths, the chroot, the access list. */
export const coordinationOpBytes = 256
export const coordinationTimeoutMs = 5_000
export const coordinationCloseMs = 2_000
/** From dialling to the answers of session and login (C-74). */
export const coordinationDialMs = 1_000
export const coordinationBackOff: BackOff = { firstMs: 100, lastMs: 500, jitter: 'full' }
/** Of the session time-out: nothing answered for so long, and a server with older data is taken too (C-85). */
export const coordinationStaleShare = 0.7
/** The library's request ids break at 2³¹ (C-78). */
export const coordinationRequestIdMax = 2 ** 30
/** ZooKeeper takes no more itself; the names of 20,000 children are 2 MiB. */
export const coordinationFrameBytesMax = 64 * 1024 * 1024
/** The uptime clock is compared so often; what it is ahead of the monotonic one counts as a suspended machine (C-10). */
export const uptimeLookMs = 100
export const uptimeAheadMs = 500
/** What a server may grant (C-4). */
export const sessionTimeoutMs = 10_000
export const sessionTimeoutMsMin = 4_000
export const sessionTimeoutMsMax = 60_000
/** The documents of a fleet were there and are gone: they may be being restored, and are not made anew for so long. */
export const rootsGoneMs = 60_000
export const rootsLookMs = 1_000
/** How often it is looked for what stands between a candidate and the office (C-21). */
export const officeAgainMs = 1_000
/** A leader that is stopped lets go of its chores within this time (C-25). */
export const officeEndMs = 1_000
/** A unit that does not stop in order within this time is aborted (C-44), so many are stopped at once. */
export const unitStopMs = 10_000
export const unitStopsMax = 64
/** What was aborted is not waited for longer: it may not write any more, whatever it still does. */
export const unitAbortMs = 1_000
/** `/held` is written at most so often (C-43). */
export const heldGapMs = 20
export const heldAgainBackOff: BackOff = { firstMs: 50, lastMs: 500, jitter: 0.2 }
/** A document whose chunks are not there is read again so often before it is `state-corrupt` (C-32). */
export const chunkReadsMax = 3
/** A worker that leaves says so within this time, or not at all: the others wait for its silence then (C-60). */
export const leaveMs = 2_000
export const statsMs = 10_000
/** A document with units that is larger is written in chunks (C-32). */
export const documentBytesMax = 512 * 1024
export const chunkBytesMax = 256 * 1024
/** Chunks that a head may speak of, and numbers that the ranges of a document or a body may mean: few bytes can say many. */
export const documentChunksMax = 1_000
export const rangeNumbersMax = 1_000_000
/** Errors of units that a worker reports at once (C-30). */
export const heldErrorsMax = 50
/** Of a document that cannot be read, in a message. */
export const stateShownCharactersMax = 80

// Reconciliation (COORDINATION §4, §5)
export const roundEveryMs = 100
/** All is read again so often, whatever hints were lost. */
export const rereadMs = 10_000
/** Units of one write, in bytes and in operations: a packet has at most 1 MiB (C-33). */
export const writeBytesMax = 512 * 1024
export const writeOpsMax = 200
/** Workers that register within so long of each other are planned at once; one alone waits no longer than this (C-52). */
export const freshTogetherMs = 2_000
export const freshAloneMs = 10_000
/** Loads are looked at for balance so often, and so long after a worker has become ready (C-55). */
export const balanceEveryMs = 10_000
export const balanceReadyMs = 2_000
/** A leader that found a fleet at work makes no voluntary move for so long (C-25). */
export const officeQuietMs = 30_000
/** A worker that does not let a unit go: named, and ejected (C-47). */
export const withdrawMs = 30_000
export const withdrawEjectMs = 60_000
export const stopDeadlineMs = 120_000
/** A wished move stands for so long after it was done (C-39). */
export const wishKeptMs = 10 * 60_000
export const drainTimeoutMs = 10 * 60_000
/** What is left of a process that is gone (C-36). */
export const garbageMs = 60 * 60_000
/** An id that was ejected or expired so often within so long is sent away, for longer each time (C-52). */
export const quarantineStrikes = 3
export const quarantineWindowMs = 600_000
export const quarantineFirstMs = 5 * 60_000
export const quarantineLastMs = 60 * 60_000
export const quarantineForgivenMs = 60 * 60_000

// Weights of units (COORDINATION C-56, C-58)
export const weightBaseBytes = 4_096
export const weightReferenceBytes = 32 * 1024 * 1024
/** A unit is measured from so long after its start on. */
export const weighedAfterMs = 30_000
export const stillMs = 300_000

// Supervisor (CLOUD D-86)
/** A child that ran for so long was well: when it ends it is started anew soon, as after its first end. */
export const supervisedWellMs = 60_000

// Object store (DESIGN §6)
/** What a bucket takes as a key. */
export const storeKeyBytesMax = 1_024
/** What a folder takes as a name. */
export const storeKeyPartBytesMax = 255
export const storeListMax = 1_000
/** Another process holds the lock of a folder for some milliseconds; one that is stopped holds it for ever. */
export const storeLockWaitMs = 5_000
export const storeLockAgainMs = 5
/** What a killed process left half written is removed after so long. */
export const storeLeftoverMs = 60 * 60 * 1_000

// Export of what people wish (COORDINATION C-104)
export const stateBytesMax = 64 * 1024 * 1024
export const stateHistoryMax = 10

// HTTP API (DESIGN §8, COORDINATION §9)
/** Of `/flows/<flow>` and `/wishes` (C-30). */
export const sharedDocumentBytesMax = 256 * 1024
/** The largest document and what stands around it. */
export const apiBodyBytesMax = sharedDocumentBytesMax + 16 * 1024
export const apiHeaderBytesMax = 16 * 1024
export const apiHeadersTimeoutMs = 10_000
/** Until the whole request is here; the answer may take longer. */
export const apiRequestTimeoutMs = 30_000
export const apiKeepAliveMs = 15_000
export const apiConnectionsMax = 512
/** What is under way when the process stops may take so long. */
export const apiCloseMs = 2_000
/** What only the leader knows is asked from it (C-101). */
export const leaderAskMs = 2_000
export const leaderAnswerBytesMax = 32 * 1024 * 1024
/** One look at both clusters for a spec that is only asked about. */
export const previewMs = 10_000
/** Two controllers that write one document at once: each try that fails, another has won. */
export const changeTriesMax = 50
export const changeBackOff: BackOff = { firstMs: 5, lastMs: 200, jitter: 'full' }
/** Offsets are set when an action of the flow is over, which is waited for so long. */
export const offsetsFreeMs = 3_000
export const offsetsFreeAgainMs = 50
/** Committed offsets and ends of logs, for one answer; below `leaderAskMs`, for who asks through another controller. */
export const offsetsReadMs = 1_500
/** A write without an answer is read back for so long: the connection that lost it has to come back. */
export const readBackMs = 5_000
/** `?wait` of a pause, in seconds. */
export const apiWaitMaxSeconds = 60
export const heldLookMs = 200
/** A command waits so long for an answer: longer than the API looks at clusters for it. */
export const apiAnswerMs = 20_000
/** `--watch` of a command asks again. */
export const watchEveryMs = 2_000
export const tokenFileBytesMax = 16 * 1024
/** Of one body; more are counted. */
export const bodyFaultsMax = 100
export const bodyPathsMax = 50
export const bodyDepthMax = 100
/** Of a document that processes share: what is deeper was not written by us, and would end whoever writes it again. */
export const stateDepthMax = 2 * bodyDepthMax
/** Names of units in one answer; more are counted. */
export const unitsShownMax = 100
/** Names told to somebody whose own is none of them. */
export const namesToldMax = 5
/** The last events of a flow that are kept (M-94), and flows of which any are. */
export const flowEventsMax = 100
export const eventFlowsMax = 500

// Tasks (CLOUD D-15)
/** Less would leave nothing beside the reserve of a stop. */
export const stopTimeoutSecondsMin = 10
/** As long as Fargate waits at most. */
export const stopTimeoutSecondsMax = 120
/** Of a supervisor: its controllers stop, then its workers, each within its own stop time-out. */
export const supervisorStopMs = 2 * stopTimeoutMs + stopReserveMs
/** What a process needs for its start has this long to be there (CLOUD D-36). */
export const startTimeoutSeconds = 120
export const startTimeoutSecondsMax = 3_600
/** How often a controller that does not lead looks who does (COORDINATION C-101). */
export const leaderLookMs = 1_000
/** How long a process does not agree with its fleet before it says why (COORDINATION C-64). */
export const coordinationSaidMs = 2_000
/** How often a controller that stands by compares its file with the flows (COORDINATION C-67). */
export const standbyLookMs = 15_000
/** Workers that one supervisor starts on its machine. */
export const supervisedWorkersMax = 100
