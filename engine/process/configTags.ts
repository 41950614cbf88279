import { z } from 'zod'
import { tagCharactersMax, tagsMax } from '../limits.ts'

/** Tags of a worker, and those that a flow requires (C-53); `zone=…` and `revision=…` are tags too. */
const tag = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9._:/=-]*$/)
  .max(tagCharactersMax)
  .describe(`a tag: 1 to ${tagCharactersMax} of A-Z a-z 0-9 . _ : / = -, a letter or digit first`)

export const tagWords = z.array(tag).max(tagsMax).describe(`a list of at most ${tagsMax} tags`).default([])
