#!/usr/bin/env -S node --disable-warning=TimeoutNegativeWarning --max-semi-space-size=4 --single-threaded-gc
// The command's first file, and the only one that is not TypeScript: the compiler that strips types is loaded for the
// first .ts file, takes 18 MiB and never gives them back. With the cache on before that, only the first start needs it.
import { enableCompileCache } from 'node:module'
import { join } from 'node:path'

enableCompileCache(join(import.meta.dirname, '../node_modules/.cache/compiled'))
await import('./main.ts')
