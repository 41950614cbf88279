import { MillraceError } from '../../errors.ts'
import { type AdminAsk, adminFault } from './decide/adminFault.ts'

/** kafkajs wraps an error in a few others at most. */
const layersMax = 8

type Layer = { name?: unknown; message?: unknown; code?: unknown; cause?: unknown; errors?: unknown }

/**
 * Our fault for what a kafkajs admin call threw (KAFKA-CLIENT W-3): Kafka's number lies below `.cause`, or in `.errors`
 * when topics were to be created. Without one the link is at fault: nobody answers, or the login was refused.
 */
export function kafkajsFault(cluster: string, ask: AdminAsk, cause: unknown): MillraceError {
  const layers = layersOf(cause)
  const told = layers.find(layer => typeof layer.code === 'number')
  // kafkajs keeps the number and drops the broker's own text: this one is of its own list.
  if (told) return adminFault(cluster, ask, { kafka: told.code as number, text: textOf(told), cause })
  const last = layers.at(-1)
  const message = `${cluster}: ${ask.what}: ${last ? textOf(last) : String(cause)}`
  if (layers.some(layer => layer.name === 'KafkaJSSASLAuthenticationError'))
    return new MillraceError('kafka-login-refused', message, { cause, hint: "check the secret's user and mechanism" })
  return new MillraceError('kafka-unreachable', message, { retryable: true, cause })
}

/** Kafka's own error number in what kafkajs threw; null = it has none. */
export function kafkaNumberOf(cause: unknown): number | null {
  const told = layersOf(cause).find(layer => typeof layer.code === 'number')
  return told ? (told.code as number) : null
}

function layersOf(error: unknown): Layer[] {
  const layers: Layer[] = []
  for (let one = error; typeof one === 'object' && one !== null && layers.length < layersMax; ) {
    const layer: Layer = one
    layers.push(layer)
    one = layer.cause ?? (Array.isArray(layer.errors) ? layer.errors[0] : null)
  }
  return layers
}

function textOf(layer: Layer): string {
  return typeof layer.message === 'string' ? layer.message : String(layer.name)
}
