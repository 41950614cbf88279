import { createHash, timingSafeEqual } from 'node:crypto'

/** What each may do includes what the one before may. */
export const roles = ['viewer', 'operator', 'admin'] as const
export type Role = (typeof roles)[number]

/** Who asks. `address`: of the other end of the connection. */
export type Who = { name: string; role: Role; address: string }

/** The tokens of `api.tokens`: no token, only what one can be known by (CREDENTIALS §3.1). */
export type TokenRoles = { tokens(): readonly { name: string; role: Role; sha256: string }[] }

export function mayDo(who: Pick<Who, 'role'>, needed: Role): boolean {
  return roles.indexOf(who.role) >= roles.indexOf(needed)
}

/**
 * Whose token it is. Every known one is compared, each in constant time: how long it takes tells nothing of which one
 * is near.
 */
export function ownerOf(token: string, { tokens }: TokenRoles): { name: string; role: Role } | null {
  const asked = createHash('sha256').update(token).digest()
  let owner: { name: string; role: Role } | null = null
  for (const { name, role, sha256 } of tokens()) {
    const known = Buffer.from(sha256, 'hex')
    if (known.length === asked.length && timingSafeEqual(known, asked)) owner = { name, role }
  }
  return owner
}

/** The token of `Authorization: Bearer …` (RFC 6750); null: there is none. */
export function bearerOf(header: string | undefined): string | null {
  return /^Bearer +([A-Za-z0-9._~+/-]+=*) *$/i.exec(header ?? '')?.[1] ?? null
}
