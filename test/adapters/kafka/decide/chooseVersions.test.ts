import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { chooseVersions } from '../../../../engine/adapters/kafka/decide/chooseVersions.ts'
import { fetchApi } from '../../../../engine/adapters/kafka/frames/fetch.ts'
import { produceApi } from '../../../../engine/adapters/kafka/frames/produce.ts'

const ours = [fetchApi, produceApi]
const chosen = (fetch: [min: number, max: number], produce: [min: number, max: number], caps?: Map<number, number>) =>
  chooseVersions(
    ours,
    [
      { key: 1, min: fetch[0], max: fetch[1] },
      { key: 0, min: produce[0], max: produce[1] },
    ],
    caps,
  )

describe('the versions we speak with a broker', () => {
  it('KAFKA 3: are the highest that both know', () => {
    assert.deepEqual(
      [...chosen([4, 18], [3, 13]).versions],
      [
        [1, 17],
        [0, 13],
      ],
    )
    assert.deepEqual(
      [...chosen([4, 13], [0, 9]).versions],
      [
        [1, 13],
        [0, 9],
      ],
    )
    assert.deepEqual(
      [...chosen([17, 20], [10, 12]).versions],
      [
        [1, 17],
        [0, 12],
      ],
    )
  })

  it('KAFKA 3: are lowered by a cap, as the one for Produce in a transaction of the first kind', () => {
    assert.deepEqual(
      [...chosen([4, 18], [0, 13], new Map([[0, 11]])).versions],
      [
        [1, 17],
        [0, 11],
      ],
    )
  })

  it('KAFKA 3: are missing with both ranges where there is none', () => {
    const { versions, missing } = chosen([0, 11], [3, 13])
    assert.deepEqual([...versions], [[0, 13]])
    assert.deepEqual(
      missing.map(({ name, min, max, broker }) => ({ name, min, max, broker: { ...broker } })),
      [{ name: 'Fetch', min: 12, max: 17, broker: { key: 1, min: 0, max: 11 } }],
    )
    assert.deepEqual(
      chosen([18, 20], [3, 13]).missing.map(api => api.name),
      ['Fetch'],
    )
    assert.deepEqual(
      chosen([4, 18], [3, 13], new Map([[1, 11]])).missing.map(api => api.name),
      ['Fetch'],
    )
    assert.deepEqual(
      chooseVersions(ours, []).missing.map(api => api.broker),
      [null, null],
    )
  })
})
