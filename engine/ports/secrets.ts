/** Where a secret for local use is (CREDENTIALS K-13). A file is named by its whole path. */
export type SecretPlace = { file: string } | { env: string }

/** One version: the first 32 hex digits of the SHA-256 of its bytes. The text is for `parseSecret` alone. */
export type PlainSecret = { versionId: string; text: string }

/** Secrets for local use: one version each, the present one. */
export interface PlainSecrets {
  /**
   * Rejects with `secret-missing`, `secret-empty`, `secret-denied` or `secret-invalid` (not text, too large), and with
   * `config-invalid` in a stage, where secrets are in a store. The message names the place, never a value.
   */
  read(place: SecretPlace): Promise<PlainSecret>
}
