/** Tags that a flow requires and a worker does not have: it may not run there (C-53, C-96). */
export function tagsMissing({ requires }: { requires: readonly string[] }, tags: readonly string[]): string[] {
  return requires.filter(tag => !tags.includes(tag))
}
