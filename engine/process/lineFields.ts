/** Fields of a log line that are known by name (LOGS §2.1). */
export const lineFields = [
  'ts',
  'level',
  'msg',
  'svc',
  'task',
  'container',
  'boot',
  'seq',
  'ev',
  'flow',
  'topic',
  'partition',
  'offset',
  'err',
] as const
