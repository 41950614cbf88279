/** Every limit of the rig, the unit last in the name. */

// below the kernel's ephemeral range, which starts at 32768.
export const portFirst = 20_000
export const portLast = 31_999
export const portTriesMax = 200

/** how often a start that met a taken port is tried. */
export const startTriesMax = 3

// until line and request both hold.
export const kafkaReadyMs = 60_000
export const zookeeperReadyMs = 20_000
export const proxyReadyMs = 2_000
/** Between two readiness requests; a request that hangs is given up after `askTimeoutMs`. */
export const askAgainMs = 40
export const askTimeoutMs = 3_000

/** After a polite end: three brokers of a quorum take 5.6 s. */
export const stopTimeoutMs = 15_000
/** The output of a dead process is read to its end, but a grandchild may hold the pipe open. */
export const drainMs = 300
export const tailLinesMax = 40

/** the share of the available memory that one set may claim. */
export const memoryShareMax = 0.6
export const brokerHeapFactor = 1.1
export const brokerOverheadMb = 120
export const zookeeperMemoryMb = 80

export const brokersMax = 5

/** what is done sooner says nothing. */
export const quietMs = 2_000
/** How often the jars of a running download are counted. */
export const countAgainMs = 500
export const toolTimeoutMs = 20_000
/** A first download on a slow line. */
export const downloadMs = 600_000
export const formatMs = 60_000
export const cacheDiskMbMin = 700
/** A folder `tmp-…` that nobody has touched for so long has no owner any more. */
export const strayAfterMs = 60 * 60 * 1_000

/** what one direction of a proxied connection holds at most; then its sender has to wait. */
export const proxyBufferBytesMax = 1024 * 1024
/** How often the command looks whether npm is still there. */
export const parentAgainMs = 500
/** How often a topic is looked at whether it is compacted by now: brokers tell nobody. */
export const compactionAgainMs = 100
/** how long a SIGSTOP may take to reach every thread, and how often that is looked at. */
export const stoppedMsMax = 5_000
export const stoppedAgainMs = 5
/** DeleteRecords right after a topic was made meets brokers that do not know its leader yet: so often, so far apart. */
export const deleteRecordsTriesMax = 100
export const deleteRecordsAgainMs = 100
