import type { SecretPlace } from '../ports/secrets.ts'

/**
 * A value that nobody sees by accident (CREDENTIALS K-15): as text, as JSON and in an inspection it is
 * `[secret <name> g<generation>]`. Only the adapters named in test/tidy/secrets.ts may call `reveal`.
 */
export class Secret<T> {
  readonly #value: T
  readonly #label: string

  /** `name` says where the value comes from, never what it is. */
  constructor(value: T, of: { name: string; generation: number }) {
    this.#value = value
    this.#label = `[secret ${of.name} g${of.generation}]`
  }

  reveal(): T {
    return this.#value
  }

  toString(): string {
    return this.#label
  }

  toJSON(): string {
    return this.#label
  }

  /** What `util.inspect` and an uncaught error's dump ask for. */
  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return this.#label
  }
}

/** How a message names the place of a secret for local use. */
export function placeName(place: SecretPlace): string {
  return 'file' in place ? place.file : `variable ${place.env}`
}
