import { codec, crc32c } from '../../engine/adapters/kafka/native.ts'
import { machineClock } from '../../engine/adapters/local/clock.ts'
import { type Solo, startSolo } from '../../engine/fleet/solo.ts'
import type { FlowPlan } from '../../engine/fleet/soloFlow.ts'
import type { FlowEvent } from '../../engine/flow/event.ts'
import { noOverlay, type Overlay } from '../../engine/flow/overlay.ts'
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
  return startSolo(plansOf(flow, words), {
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

/** The same flow, with what people have changed of it: for `apply`. */
export function plansOf(flow: string, words: FlowWords, overlay: Overlay = noOverlay): Map<string, FlowPlan> {
  const { mirror: kind } = kinds
  if (!kind) throw new Error('no mirror')
  const topics = { refreshMs: 1_000, ...words.topics }
  const spec = mirrorSpec.parse({ from: 'east', to: 'west', ...words, topics })
  return new Map([[flow, { kind, spec, overlay }]])
}
