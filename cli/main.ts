#!/usr/bin/env -S node --disable-warning=TimeoutNegativeWarning
import { enableCompileCache } from 'node:module'
import { join } from 'node:path'

// Without it Node strips the types of every file at each start, which costs a second and 30 MiB that never come back.
enableCompileCache(join(import.meta.dirname, '../node_modules/.cache/compiled'))
const { runCommand } = await import('./command.ts')
await runCommand()
