/** A text of a module that is replaced as it is loaded. */
export type Patch = { file: string; from: string; to: string }

/** Documents of 20 to 60 units are small: with smaller limits they are chunked as large ones are (C-32). */
export const smallDocuments: readonly Patch[] = [
  { file: 'engine/limits.ts', from: 'documentBytesMax = 512 * 1024', to: 'documentBytesMax = 170' },
  { file: 'engine/limits.ts', from: 'chunkBytesMax = 256 * 1024', to: 'chunkBytesMax = 110' },
]

/** A fault that the simulation must find (C-114). */
export type Planted = { name: string; patches: readonly Patch[]; rateSpread?: number }

export const planted: readonly Planted[] = [
  {
    name: 'no fence',
    patches: [
      {
        file: 'engine/fleet/decide/lease.ts',
        from: "if (elapsedMs >= fencedMs) return 'fenced'",
        to: "return elapsedMs === Number.POSITIVE_INFINITY ? 'fenced' : 'open'",
      },
      // Else it would look for its closing without end.
      { file: 'engine/fleet/lease.ts', from: "if (state === 'fenced') return\n", to: 'return\n' },
    ],
  },
  {
    name: 'lease from arrival of the answer',
    patches: [
      { file: 'engine/fleet/lease.ts', from: 'from = beat\n', to: 'from = { atMs: nowMs, uptimeMs: uptimeMs() }\n' },
    ],
  },
  {
    name: 'give before held',
    patches: [
      {
        file: 'engine/fleet/decide/transit.ts',
        from: 'if (held === null || heldFault) return false',
        to: 'return true',
      },
      {
        file: 'engine/fleet/decide/transit.ts',
        from: "if (held === null || held.state === 'left') continue",
        to: 'continue',
      },
    ],
  },
  {
    name: 'takeover without the versioned delete',
    patches: [
      {
        file: 'engine/fleet/decide/multis.ts',
        from: "[{ do: 'remove', path: paths.worker(id), version: node }]",
        to: "[{ do: 'remove', path: paths.worker(id), version: null }]",
      },
      {
        file: 'engine/fleet/decide/multis.ts',
        from: 'put(paths.held(id), writeHeld(left), held)',
        to: "held === null ? put(paths.held(id), writeHeld(left), null) : { do: 'set', path: paths.held(id), data: writeHeld(left), version: null }",
      },
    ],
  },
  {
    name: 'no epoch check',
    patches: [
      {
        file: 'engine/fleet/office.ts',
        from: "{ do: 'check', path: paths.epoch, version }",
        to: "{ do: 'check', path: paths.candidates, version: 0 * version }",
      },
    ],
  },
  {
    name: 'silence counted through an outage',
    patches: [
      {
        file: 'engine/fleet/decide/lease.ts',
        from: 'return Math.max(seen.atMs, answeredSinceMs)',
        to: 'return Math.max(seen.atMs, 0 * answeredSinceMs)',
      },
    ],
  },
  {
    name: 'commit before acknowledgement',
    patches: [
      {
        file: 'test/sim/units.ts',
        from: 'due.map(unit => [unit.name, unit.acked] as const)',
        to: 'due.map(unit => [unit.name, unit.at] as const)',
      },
      {
        file: 'test/sim/units.ts',
        from: 'unit.stored !== unit.acked || nowMs',
        to: 'unit.stored !== unit.at || nowMs',
      },
    ],
  },
  {
    name: 'only watches, no level reads',
    patches: [
      { file: 'engine/fleet/worker.ts', from: 'beaten: () => state.joined?.assignments.look()', to: 'beaten() {}' },
    ],
  },
  {
    name: 'stop reported before in flight ended',
    patches: [
      {
        file: 'engine/fleet/workerFlow.ts',
        from: 'const held = new Set(opened?.runner.owned())',
        to: 'const held = new Set<string>(opened ? [] : [])',
      },
    ],
  },
  {
    name: 'chunk head written first',
    patches: [
      {
        file: 'engine/fleet/decide/multis.ts',
        from: '    ...packed(chunks, false),\n    ...packed([...heads, ...gives], false),',
        to: '    ...packed([...heads, ...gives], false),\n    ...packed(chunks, false),',
      },
    ],
  },
  {
    name: 'old document applied after re-registration',
    patches: [
      {
        file: 'engine/fleet/worker.ts',
        from: '    seen: flows.accepted,\n',
        to: '    seen: (first => () => (first.splice(0).length > 0 ? null : flows.accepted()))([1]),\n',
      },
    ],
  },
  { name: 'clock rates 0.90 to 1.10', patches: [], rateSpread: 0.1 },
]
