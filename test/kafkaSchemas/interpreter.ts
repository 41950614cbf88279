import type { Dice } from './dice.ts'
import { type Field, type Schema, within } from './schema.ts'

/** A value of a schema: structs by field name, int64 as bigint, uuid as 22 characters, bytes as they are. */
export type Value = number | bigint | string | boolean | Buffer | null | Value[] | Struct
export interface Struct {
  [field: string]: Value
}

/** A tag of a version that is to come; readers skip it by its size. */
const futureTag = 5_000

/**
 * Reads and writes what a schema of Kafka's describes, in one flexible version. It shares no code with the client: it
 * is what the client is compared with.
 */
export function interpreterOf(schema: Schema, version: number) {
  if (!within(schema.flexibleVersions, version)) throw new Error(`${schema.name} ${version} is not flexible`)
  const structs = new Map((schema.commonStructs ?? []).map(({ name, fields }) => [name, fields]))
  const there = (fields: Field[]) => fields.filter(field => within(field.versions, version))
  const tagged = (field: Field) => within(field.taggedVersions, version)
  const fieldsOf = (field: Field) => there(field.fields ?? structs.get(field.type.trim().replace('[]', '')) ?? [])
  const elementOf = (field: Field): Field => ({ ...field, type: field.type.trim().slice(2), nullableVersions: 'none' })

  function encodeStruct(fields: Field[], value: Struct, out: Buffer[], extra: boolean): void {
    for (const field of fields.filter(field => !tagged(field))) encode(field, value[field.name] as Value, out, extra)
    const known = fields.filter(field => tagged(field) && value[field.name] !== undefined)
    out.push(uvarint(known.length + (extra ? 1 : 0)))
    for (const field of known.toSorted((a, b) => (a.tag ?? 0) - (b.tag ?? 0))) {
      const content: Buffer[] = []
      encode(field, value[field.name] as Value, content, extra)
      tag(field.tag ?? 0, Buffer.concat(content), out)
    }
    if (extra) tag(futureTag, Buffer.from('of the future'), out)
  }

  function encode(field: Field, value: Value, out: Buffer[], extra: boolean): void {
    const type = field.type.trim()
    if (type.startsWith('[]')) {
      out.push(uvarint(value === null ? 0 : (value as Value[]).length + 1))
      for (const item of (value as Value[] | null) ?? []) encode(elementOf(field), item, out, extra)
      return
    }
    const primitive = primitives[type]
    if (primitive) out.push(primitive.encode(value))
    else encodeStruct(fieldsOf(field), value as Struct, out, extra)
  }

  function decodeStruct(fields: Field[], source: Source): Struct {
    const value: Struct = {}
    for (const field of fields.filter(field => !tagged(field))) value[field.name] = decode(field, source)
    for (let n = readUvarint(source); n > 0; n--) {
      const number = readUvarint(source)
      const end = readUvarint(source) + source.at
      const field = fields.find(one => tagged(one) && one.tag === number)
      if (!field) throw new Error(`${schema.name} ${version} has no tag ${number}`)
      value[field.name] = decode(field, source)
      if (source.at !== end) throw new Error(`tag ${number} is not as long as it says`)
    }
    return value
  }

  function decode(field: Field, source: Source): Value {
    const type = field.type.trim()
    if (type.startsWith('[]')) {
      const length = readUvarint(source) - 1
      return length < 0 ? null : Array.from({ length }, () => decode(elementOf(field), source))
    }
    const primitive = primitives[type]
    return primitive ? primitive.decode(source) : decodeStruct(fieldsOf(field), source)
  }

  function random(field: Field, dice: Dice): Value {
    if (within(field.nullableVersions, version) && dice.below(4) === 0) return null
    const type = field.type.trim()
    if (type.startsWith('[]')) return dice.list(() => random(elementOf(field), dice))
    return primitives[type]?.random(dice) ?? randomStruct(fieldsOf(field), dice)
  }

  function randomStruct(fields: Field[], dice: Dice): Struct {
    const value: Struct = {}
    for (const field of fields) if (!tagged(field) || dice.yes()) value[field.name] = random(field, dice)
    return value
  }

  const all = there(schema.fields)
  return {
    /** `extra`: with a tag in every struct that nobody knows yet. */
    encode(value: Struct, extra: boolean): Buffer {
      const out: Buffer[] = []
      encodeStruct(all, value, out, extra)
      return Buffer.concat(out)
    },
    /** Fields of the version; tagged ones only where they are written. Throws where bytes are left. */
    decode(bytes: Buffer): Struct {
      const source = { bytes, at: 0 }
      const value = decodeStruct(all, source)
      if (source.at !== bytes.length) throw new Error(`${bytes.length - source.at} bytes are left`)
      return value
    },
    random: (dice: Dice) => randomStruct(all, dice),
  }
}

type Source = { bytes: Buffer; at: number }
type Primitive = { encode(value: Value): Buffer; decode(source: Source): Value; random(dice: Dice): Value }

function fixed(bytes: number, write: (to: Buffer, value: Value) => void, read: (from: Buffer, at: number) => Value) {
  return {
    encode(value: Value) {
      const to = Buffer.alloc(bytes)
      write(to, value)
      return to
    },
    decode(source: Source) {
      source.at += bytes
      return read(source.bytes, source.at - bytes)
    },
  }
}

function sized(toBytes: (value: Value) => Buffer, fromBytes: (bytes: Buffer) => Value) {
  return {
    encode(value: Value) {
      if (value === null) return uvarint(0)
      const bytes = toBytes(value)
      return Buffer.concat([uvarint(bytes.length + 1), bytes])
    },
    decode(source: Source) {
      const length = readUvarint(source) - 1
      if (length < 0) return null
      source.at += length
      return fromBytes(source.bytes.subarray(source.at - length, source.at))
    },
  }
}

const bytes = {
  ...sized(
    value => value as Buffer,
    value => value,
  ),
  random: (dice: Dice) => dice.bytes(),
}
const integer = (bits: number): Primitive => ({
  ...fixed(
    bits / 8,
    (to, value) => to.writeIntBE(value as number, 0, bits / 8),
    (from, at) => from.readIntBE(at, bits / 8),
  ),
  random: dice => dice.int(bits),
})

const primitives: Record<string, Primitive> = {
  int8: integer(8),
  int16: integer(16),
  int32: integer(32),
  int64: {
    ...fixed(
      8,
      (to, value) => to.writeBigInt64BE(value as bigint),
      (from, at) => from.readBigInt64BE(at),
    ),
    random: dice => dice.long(),
  },
  bool: {
    ...fixed(
      1,
      (to, value) => to.writeUInt8(value ? 1 : 0),
      (from, at) => from.readUInt8(at) !== 0,
    ),
    random: dice => dice.yes(),
  },
  uuid: {
    ...fixed(
      16,
      (to, value) => to.write(value as string, 'base64url'),
      (from, at) => from.toString('base64url', at, at + 16),
    ),
    random: dice => dice.uuid(),
  },
  string: {
    ...sized(
      value => Buffer.from(value as string),
      value => value.toString(),
    ),
    random: dice => dice.text(),
  },
  bytes,
  records: bytes,
}

function uvarint(value: number): Buffer {
  const out: number[] = []
  let rest = value
  for (; rest >= 128; rest = Math.floor(rest / 128)) out.push((rest % 128) + 128)
  return Buffer.from([...out, rest])
}

function readUvarint(source: Source): number {
  let value = 0
  for (let scale = 1; ; scale *= 128) {
    const byte = source.bytes.readUInt8(source.at++)
    value += (byte % 128) * scale
    if (byte < 128) return value
  }
}

function tag(number: number, content: Buffer, out: Buffer[]): void {
  out.push(uvarint(number), uvarint(content.length), content)
}
