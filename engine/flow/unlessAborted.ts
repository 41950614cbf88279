/**
 * What the promise gives, or null as soon as the signal says so; then nobody looks at its end any more. For requests
 * that end by themselves, but later than a stop may wait.
 */
export async function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T | null> {
  const { promise: aborted, resolve } = Promise.withResolvers<null>()
  const end = () => resolve(null)
  if (signal.aborted) end()
  signal.addEventListener('abort', end)
  try {
    return await Promise.race([promise, aborted])
  } finally {
    signal.removeEventListener('abort', end)
  }
}
