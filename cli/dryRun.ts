import { codec, crc32c } from '../engine/adapters/kafka/native.ts'
import type { TopicPreview } from '../engine/mirror/decide/previewOf.ts'
import { count } from '../engine/mirror/decide/progressLine.ts'
import { preview } from '../engine/mirror/preview.ts'
import type { MirrorSpec } from '../engine/mirror/spec.ts'
import { showSafe } from '../engine/process/pretty.ts'
import type { Around, Opened } from './runFlows.ts'
import { tableOf } from './table.ts'

const titles = ['TOPIC', 'DESTINATION', 'PARTITIONS', 'THERE', 'RULE', 'NOTE']

/** `--dry-run`: what would be copied, and where to (M-13): JSON lines, or a table of what is selected or refused. */
export async function dryRun(
  flow: string,
  spec: MirrorSpec,
  { kafka }: Opened,
  { clock, life, tell }: Around,
  json: boolean,
): Promise<string> {
  const signal = life.stop
  const ctx = { flow, kafka, clock, chance: Math.random, codec, crc: crc32c, epoch: 1, signal, untilEnd: false }
  const rows = await preview(spec, { ...ctx, mayWrite: () => false, tell: event => tell(flow, event) })
  return json ? rows.map(row => `${JSON.stringify({ type: 'topic', flow, ...row })}\n`).join('') : table(rows, spec)
}

function table(rows: readonly TopicPreview[], spec: MirrorSpec): string {
  const cells = rows.map(row => [
    row.topic,
    row.destination ?? '-',
    count(row.partitions),
    row.selected ? (row.there === null ? '-' : count(row.there)) : '',
    row.rule === 'none' ? 'no pattern' : row.rule,
    showSafe(noteOf(row, spec)),
  ])
  const selected = rows.filter(row => row.selected && row.fault === null).length
  return `${tableOf(titles, cells, new Set(['PARTITIONS', 'THERE']))}${count(selected)} of ${count(rows.length)} topics would be copied\n`
}

function noteOf({ selected, fault, partitions, there }: TopicPreview, spec: MirrorSpec): string {
  if (!selected) return 'left out'
  if (fault) return `${fault.code}: ${fault.message}`
  const { create } = spec.destination
  if (there === null) return create ? 'will be created' : 'waits until somebody creates it'
  if (there < partitions) return create ? 'will be grown' : 'waits for its partitions'
  return ''
}
