/** The ports of one member; `peer` and `election` are used only by an ensemble. */
export type MemberPorts = { id: number; client: number; peer: number; election: number }

/** The text of `zoo.cfg` of one member. Three need the longer tick: they share two cores with all the rest. */
export function memberProperties(
  ensemble: MemberPorts[],
  ports: MemberPorts,
  dataDir: string,
  more: { maxSessionTimeoutMs: number | null; demandSasl: boolean },
): string {
  const alone = ensemble.length === 1
  const lines = [
    `tickTime=${alone ? 500 : 1_000}`,
    `dataDir=${dataDir}`,
    `clientPort=${ports.client}`,
    'clientPortAddress=127.0.0.1',
    'admin.enableServer=false',
    '4lw.commands.whitelist=*',
  ]
  if (!alone) {
    lines.push('initLimit=10', 'syncLimit=5')
    for (const { id, peer, election } of ensemble) lines.push(`server.${id}=127.0.0.1:${peer}:${election}`)
  }
  if (more.maxSessionTimeoutMs !== null) lines.push(`maxSessionTimeout=${more.maxSessionTimeoutMs}`)
  if (more.demandSasl) {
    lines.push('authProvider.1=org.apache.zookeeper.server.auth.SASLAuthenticationProvider')
    lines.push('sessionRequireClientSASLAuth=true')
  }
  return `${lines.join('\n')}\n`
}

/** The server's side of DIGEST-MD5, as Java wants it. */
export function saslFile(user: { name: string; password: string }): string {
  return `Server {
  org.apache.zookeeper.server.auth.DigestLoginModule required
  user_${user.name}="${user.password}";
};
`
}
