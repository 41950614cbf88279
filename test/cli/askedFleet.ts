import type { TestContext } from 'node:test'
import type { ApiParts } from '../../engine/api/parts.ts'
import type { Role } from '../../engine/api/tokens.ts'
import { newFleet, type Served, served, tokens } from '../api/served.ts'
import { commandLine, type Ran, type Running } from './commandLine.ts'

export type AskedFleet = Served & {
  /** The words of a command line, asked as an admin unless another role is said; null: without a token. */
  run(line: string, how?: Running & { role?: Role | null }): Promise<Ran>
}

export const otherSpec = { from: 'east', to: 'west', topics: { include: ['p'] } }

/** A fleet of two workers and two flows behind its API; `paused` is paused, and `clicks.a/9` of `clicks` in error. */
export async function askedFleet(t: TestContext, more: Partial<ApiParts> = {}): Promise<AskedFleet> {
  const fleet = newFleet()
  fleet.putFlow('clicks')
  const overlay = { topics: new Map(), paused: '*' as const, skips: new Map() }
  fleet.putFlow('paused', { spec: otherSpec, overlay })
  fleet.putWorker('w-1', { tags: ['zone=a', 'gpu'] })
  fleet.putWorker('w-2')
  fleet.putHeld('w-1', ['clicks/clicks.a/0'])
  fleet.putAssignment('w-1', ['clicks/clicks.a/0'])
  const api = await served(t, more, fleet)
  return {
    ...api,
    run(line, { role = 'admin', ...how } = {}) {
      const token = role === null ? null : tokens[role]
      return commandLine(line.split(' '), { api: api.url, token, ...how })
    },
  }
}
