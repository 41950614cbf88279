import { readHeader } from '../../engine/batch/header.ts'

export const hex = (text: string) => Buffer.from(text, 'hex')

/** A batch as streams give it. */
export const batchOf = (bytes: Buffer) => ({ bytes, header: readHeader(bytes) })

/** MIRROR V-1: records k1=hello h:1 h:null, k2=null, null=empty. */
export const patchVector = hex(
  '00000000000003e80000005600000005026b3acc2f0010000000020000018bcfe568000000018bcfe5680a0000000000001b59000300000028' +
    '0000000328000000046b310a68656c6c6f040268023102680110000a02046b3201000c001404010000',
)
