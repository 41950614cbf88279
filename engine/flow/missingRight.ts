/** The hint of each `kafka-not-authorized`; `right` as in `Read on topic t`. */
export function missingRight(right: string): string {
  return `add an ACL for our principal: ${right}; millrace mirror acls --needed prints all that a flow needs`
}
