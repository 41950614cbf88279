import type { AnyKind } from './flow/contract.ts'
import { mirrorKind } from './mirror/kind.ts'

/** Every kind of flow: a new one is one folder and one line here. */
export const kinds: Readonly<Record<string, AnyKind>> = { mirror: mirrorKind as unknown as AnyKind }
