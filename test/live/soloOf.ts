import { codec, crc32c } from '../../engine/adapters/kafka/native.ts'
import { machineClock } from '../../engine/adapters/local/clock.ts'
import { type Solo, startSolo } from '../../engine/fleet/solo.ts'
import type { FlowEvent } from '../../engine/flow/event.ts'
import { noOverlay } from '../../engine/flow/overlay.ts'
import { kinds } from '../../engine/kinds.ts'
import { mirrorSpec } from '../../engine/mirror/spec.ts'
import type { Clock } from '../../engine/ports/clock.ts'
import type { KafkaCluster } from '../../engine/ports/kafka.ts'
import type { FlowWords } from './runFile.ts'

/** A mirror from east to west in this process, on clusters that a test may have wrapped. `stop` ends it at once. */
export function soloOf(
  flow: string,
  words: FlowWords,
  how: { east: KafkaCluster; west: KafkaCluster; stop: AbortSignal; clock?: Clock; tell?: (event: FlowEvent) => void },
): Solo {
  const { mirror: kind } = kinds
  if (!kind) throw new Error('no mirror')
  const topics = { refreshMs: 1_000, ...words.topics }
  const spec = mirrorSpec.parse({ from: 'east', to: 'west', ...words, topics })
  return startSolo(new Map([[flow, { kind, spec, overlay: noOverlay }]]), {
    kafka: cluster => (cluster === 'east' ? how.east : how.west),
    untilEnd: false,
    clock: how.clock ?? machineClock(),
    chance: Math.random,
    codec,
    crc: crc32c,
    stop: how.stop,
    abort: how.stop,
    tell: (_flow, event) => how.tell?.(event),
    broke: (_flow, error) => {
      throw error
    },
  })
}
