import { canonical } from '../canonical.ts'
import { documentFields } from './fields.ts'

/** `/workers/<id>`: what a process says of itself; to write it is its beat (C-3). */
export type WorkerDoc = {
  id: string
  address: string | null
  /** 1000 × vCPU (C-54). */
  capacity: number
  /** From its last answered beat on (C-8). */
  leaseMs: number
  revision: string
  software: string
  startedAtMs: number
  state: 'ready' | 'stopping'
  tags: readonly string[]
  /** The launcher's word for it. */
  task: string
  unitsMax: number
}

export function readWorker(text: string, path: string): WorkerDoc {
  const fields = documentFields(text, path)
  return {
    id: fields.text('id'),
    address: fields.textOrNull('address'),
    capacity: fields.positive('capacity'),
    leaseMs: fields.positive('leaseMs'),
    revision: fields.text('revision'),
    software: fields.text('software'),
    startedAtMs: fields.whole('startedAtMs'),
    state: fields.oneOf('state', ['ready', 'stopping']),
    tags: fields.texts('tags'),
    task: fields.text('task'),
    unitsMax: fields.whole('unitsMax'),
  }
}

export function writeWorker(doc: WorkerDoc): string {
  return canonical({ ...doc, v: 1 })
}
