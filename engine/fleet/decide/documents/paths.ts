import type { Generation } from '../assignment.ts'

/** Where the documents of a fleet stand, below its chroot (C-30). */
export const paths = {
  epoch: '/epoch',
  wishes: '/wishes',
  logging: '/logging',
  candidates: '/leader',
  /** The coordinator puts a number behind it. */
  candidate: '/leader/candidate-',
  flows: '/flows',
  workers: '/workers',
  assignments: '/assignments',
  helds: '/held',
  statistics: '/stats',
  credentials: '/credentials',
  flow: (name: string) => `/flows/${name}`,
  worker: (id: string) => `/workers/${id}`,
  assignment: (id: string) => `/assignments/${id}`,
  assignmentChunk: (id: string, at: Generation, chunk: number) => `/assignments/${id}/${chunkName(at, chunk)}`,
  held: (id: string) => `/held/${id}`,
  heldChunk: (id: string, at: Generation, chunk: number) => `/held/${id}/${chunkName(at, chunk)}`,
  stats: (id: string) => `/stats/${id}`,
}

/** The persistent parents that every process makes when they are missing. */
export const roots = [
  paths.candidates,
  paths.flows,
  paths.workers,
  paths.assignments,
  paths.helds,
  paths.statistics,
  paths.credentials,
]

/** Of a chunk below its head (C-32). */
export function chunkName({ epoch, generation }: Generation, chunk: number): string {
  return `${epoch}-${generation}-${chunk}`
}
