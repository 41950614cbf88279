import type { Process } from './fleet.ts'
import { clusters } from './kafka/broker.ts'
import { aWay, block, blockZookeeper, during, type Scene } from './scene.ts'
import { type Step, steps } from './steps.ts'

/** What may happen (C-111), and how often beside the others. `leader`: it may cost the leader its office. */
type Fault = { name: string; weight: number; leader: boolean; begin(scene: Scene): void }

const fewestWorkers = 2
const mostWorkers = 8

export const faults: readonly Fault[] = [
  { name: 'a worker is killed', weight: 3, leader: false, begin: killWorker },
  { name: 'a worker stands still', weight: 3, leader: false, begin: stopWorker },
  { name: 'a worker is told to stop', weight: 2, leader: false, begin: terminateWorker },
  { name: 'a worker joins', weight: 1, leader: false, begin: join },
  { name: 'a worker is drained', weight: 1, leader: false, begin: drain },
  { name: 'a worker is cut off from ZooKeeper', weight: 3, leader: false, begin: cutWorker },
  { name: 'a worker is back about when it is given up', weight: 5, leader: false, begin: backInTime },
  { name: 'answers to a worker come late, then none', weight: 4, leader: false, begin: lateThenCut },
  { name: 'a worker is cut off from Kafka', weight: 2, leader: false, begin: cutKafka },
  { name: 'lines lose packets', weight: 1, leader: true, begin: lose },
  { name: 'connections are reset', weight: 1, leader: false, begin: resets },
  { name: 'Kafka is slow', weight: 1, leader: false, begin: slowKafka },
  { name: 'starts are refused', weight: 1, leader: false, begin: denyStarts },
  { name: 'people change something', weight: 3, leader: false, begin: change },
  { name: 'a member lags', weight: 2, leader: false, begin: lag },
  { name: 'a session ends before its time', weight: 1, leader: true, begin: expire },
  { name: 'a controller is killed', weight: 1, leader: true, begin: killController },
  { name: 'a controller is told to stop', weight: 1, leader: true, begin: terminateController },
  { name: 'a controller is cut off from ZooKeeper', weight: 2, leader: true, begin: cutController },
  { name: 'the leader is killed in a step', weight: 3, leader: true, begin: killInStep },
  { name: 'the leader stands still in a step', weight: 3, leader: true, begin: stopInStep },
  { name: 'a write of the leader comes late', weight: 3, leader: true, begin: holdWrite },
  { name: 'a member is down', weight: 2, leader: true, begin: memberDown },
  { name: 'all members are down', weight: 1, leader: true, begin: allDown },
  { name: 'two members do not reach each other', weight: 2, leader: true, begin: cutMembers },
  { name: 'disks are slow', weight: 1, leader: true, begin: slowDisks },
]

/** One of them, now. */
export function beginOne(scene: Scene): void {
  const { world, calmLeaderMs } = scene
  const able = faults.filter(fault => !fault.leader || world.nowMs() < calmLeaderMs)
  let at = world.chance() * able.reduce((sum, { weight }) => sum + weight, 0)
  const fault = able.find(({ weight }) => {
    at -= weight
    return at < 0
  })
  world.note(`fault: ${fault?.name}`)
  fault?.begin(scene)
}

/** Those of a role that nothing has hit yet. */
function whole(scene: Scene, role: Process['role']): Process[] {
  return scene.fleet.processes(role).filter(one => !one.isTerminating() && !one.machine.isStopped())
}

function oneOf(scene: Scene, role: Process['role'], fewest: number): Process | null {
  const all = whole(scene, role)
  return all.length > fewest ? scene.world.pick(all) : null
}

function replace(scene: Scene, role: Process['role'], ms: number): void {
  during(scene, ms, () => void scene.fleet.start(role))
}

function killWorker(scene: Scene): void {
  const one = oneOf(scene, 'worker', fewestWorkers)
  if (!one) return
  one.kill()
  if (scene.world.happens(0.8)) replace(scene, 'worker', scene.world.spanMs(500, 6_000))
}

function stopWorker(scene: Scene): void {
  const one = oneOf(scene, 'worker', 1)
  if (one) stand(scene, one, scene.world.spanMs(500, 16_000))
}

function stand(scene: Scene, one: Process, ms: number): void {
  const end = scene.excuses.begin(one.id)
  one.machine.stop()
  during(scene, ms, () => {
    one.machine.goOn()
    end()
  })
}

function terminateWorker(scene: Scene): void {
  const one = oneOf(scene, 'worker', fewestWorkers)
  if (!one) return
  if (scene.world.happens(0.5)) scene.fleet.start('worker')
  else replace(scene, 'worker', 1_000)
  one.terminate()
}

function join(scene: Scene): void {
  if (scene.fleet.processes('worker').length < mostWorkers) scene.fleet.start('worker')
}

function drain(scene: Scene): void {
  const one = oneOf(scene, 'worker', 1)
  if (!one) return
  const drained = { atMs: 1, by: 'sim', reason: 'api' as const }
  scene.operator.wish(wishes => ({ ...wishes, drains: new Map([...wishes.drains, [one.id, drained]]) }))
  during(scene, scene.world.spanMs(3_000, 20_000), () => {
    scene.operator.wish(wishes => ({ ...wishes, drains: new Map([...wishes.drains].filter(([id]) => id !== one.id)) }))
  })
}

function cutFor(scene: Scene, one: Process, ms: number): void {
  const end = scene.excuses.begin(one.id)
  const mend = blockZookeeper(scene, one.id, aWay(scene))
  during(scene, ms, () => {
    mend()
    end()
  })
}

function cutWorker(scene: Scene): void {
  const one = oneOf(scene, 'worker', 1)
  if (one) cutFor(scene, one, scene.world.spanMs(300, 15_000))
}

/** Its session may be over before. The takeover is 7.5 s after the beat that the leader saw last. */
function backInTime(scene: Scene): void {
  const { world, ensemble } = scene
  const one = oneOf(scene, 'worker', 1)
  if (!one) return
  const untilMs = scene.lastBeatMs(one.id) + world.spanMs(6_700, 8_300)
  cutFor(scene, one, untilMs - world.nowMs())
  if (world.happens(0.6)) world.at(untilMs - 1_000, () => between(scene))
  if (!world.happens(0.4)) return
  const session = [...ensemble.sessions.values()].find(({ host }) => host === one.id)
  if (session) world.after(world.spanMs(0, 6_500), () => ensemble.expire(session.id))
}

/** Between what the leader reads and what it writes there is time for a beat. */
function between(scene: Scene): void {
  const { world, ensemble, excuses } = scene
  const end = excuses.begin('*')
  const host = scene.leader()?.id
  const session = [...ensemble.sessions.values()].find(one => one.host === host)
  const member = ensemble.members.find(({ name }) => name === session?.member)
  const lags = world.happens(0.5)
  if (member && lags) member.lagMs = world.spanMs(400, 1_500)
  else Object.assign(ensemble.disk, { fromMs: 200, toMs: world.spanMs(300, 900) })
  during(scene, world.spanMs(1_500, 3_000), () => {
    if (member && lags) member.lagMs = 0
    Object.assign(ensemble.disk, { fromMs: 0.3, toMs: 3 })
    end()
  })
}

function lateThenCut(scene: Scene): void {
  const { world, network, ensemble } = scene
  const one = oneOf(scene, 'worker', 1)
  if (!one) return
  const lateMs = world.spanMs(700, 1_900)
  const lines = ensemble.members.map(({ name }) => network.line(name, one.id))
  const end = scene.excuses.begin(one.id)
  for (const line of lines) Object.assign(line, { fromMs: lateMs, toMs: lateMs + 50 })
  during(scene, world.spanMs(3_000, 7_000), () => {
    for (const line of lines) Object.assign(line, { fromMs: 0.2, toMs: 2 })
    end()
    // What is on its way arrives; what is sent from now on does not.
    if (one.isAlive()) cutFor(scene, one, world.spanMs(8_000, 12_000))
  })
}

function cutKafka(scene: Scene): void {
  const { world, network, excuses } = scene
  const one = oneOf(scene, 'worker', 0)
  if (!one) return
  const end = excuses.begin(one.id)
  const cut = world.happens(0.5) ? clusters : [world.pick(clusters)]
  const mends = cut.map(cluster => block(scene, one.id, cluster, aWay(scene)))
  during(scene, world.spanMs(500, 14_000), () => {
    for (const mend of mends) mend()
    if (world.happens(0.5)) for (const cluster of cut) network.cutAll(one.id, cluster)
    end()
  })
}

/** What is lost is sent again after a while, and all that follows waits for it. */
function lose(scene: Scene): void {
  const { world, network, ensemble, fleet, excuses } = scene
  const share = world.spanMs(0.02, 0.3)
  const servers = [...ensemble.members.map(({ name }) => name), ...clusters]
  const some = fleet.processes().filter(() => world.happens(0.5))
  const lines = some.flatMap(({ id }) => servers.flatMap(name => [network.line(id, name), network.line(name, id)]))
  const ends = some.map(({ id }) => excuses.begin(id))
  for (const line of lines) line.lossShare = share
  during(scene, world.spanMs(2_000, 12_000), () => {
    for (const line of lines) line.lossShare = 0
    for (const end of ends) end()
  })
}

function resets(scene: Scene): void {
  const { world, network, ensemble, excuses } = scene
  for (const one of scene.fleet.processes()) {
    if (!world.happens(0.4)) continue
    excuses.now(one.id)
    for (const cluster of clusters) if (world.happens(0.5)) network.cutAll(one.id, cluster)
    for (const { name } of ensemble.members) network.cutAll(one.id, name)
  }
}

function slowKafka(scene: Scene): void {
  const { world, broker, excuses } = scene
  const end = excuses.begin('*')
  Object.assign(broker.serve, { fromMs: 50, toMs: world.spanMs(200, 3_000) })
  during(scene, world.spanMs(2_000, 10_000), () => {
    Object.assign(broker.serve, { fromMs: 0, toMs: 0 })
    end()
  })
}

function denyStarts(scene: Scene): void {
  scene.broker.deniesStarts = true
  during(scene, scene.world.spanMs(1_000, 15_000), () => {
    scene.broker.deniesStarts = false
  })
}

function change(scene: Scene): void {
  const { world, operator, fleet, broker } = scene
  const unit = world.pick([...broker.units.values()])
  const [flow = '', topic = ''] = unit.name.split('/')
  const paused = (how: 'on' | 'off') =>
    operator.flow(flow, doc => {
      const now = new Map(doc.overlay.paused === '*' ? [] : doc.overlay.paused)
      if (how === 'on') now.set(topic, '*')
      else now.delete(topic)
      return { ...doc, overlay: { ...doc.overlay, paused: now } }
    })
  const what = world.pick(['pause', 'move', 'rebalance', 'auto', 'grow'] as const)
  world.note(`people: ${what} ${unit.name}`)
  if (what === 'pause') {
    paused('on')
    during(scene, world.spanMs(1_000, 12_000), () => paused('off'))
  } else if (what === 'move') {
    const to = world.pick(fleet.processes('worker'))?.id ?? ''
    operator.wish(wishes => ({ ...wishes, moves: new Map([...wishes.moves, [unit.name, to]]) }))
  } else if (what === 'rebalance') operator.wish(wishes => ({ ...wishes, rebalance: wishes.rebalance + 1 }))
  else if (what === 'auto') {
    operator.wish(wishes => ({ ...wishes, auto: false }))
    during(scene, world.spanMs(2_000, 20_000), () => operator.wish(wishes => ({ ...wishes, auto: true })))
  } else grow(scene)
}

function growTo({ broker }: Scene, flow: string, topic: string): number {
  return 2 + [...broker.units.keys()].filter(name => name.startsWith(`${flow}/${topic}/`)).length
}

function lag(scene: Scene): void {
  const { world, ensemble } = scene
  const member = world.pick(ensemble.members)
  member.lagMs = world.spanMs(200, 3_000)
  during(scene, world.spanMs(3_000, 15_000), () => {
    member.lagMs = 0
  })
}

function expire(scene: Scene): void {
  const { world, ensemble, excuses } = scene
  const session = world.pick([...ensemble.sessions.values()])
  if (!session) return
  excuses.now(session.host)
  ensemble.expire(session.id)
}

function killController(scene: Scene): void {
  const one = oneOf(scene, 'controller', 0)
  if (!one) return
  one.kill()
  replace(scene, 'controller', scene.world.spanMs(500, 8_000))
}

function terminateController(scene: Scene): void {
  const one = oneOf(scene, 'controller', 0)
  if (!one) return
  one.terminate()
  replace(scene, 'controller', scene.world.spanMs(0, 3_000))
}

function cutController(scene: Scene): void {
  const one = oneOf(scene, 'controller', 0)
  if (one) cutFor(scene, one, scene.world.spanMs(500, 14_000))
}

function killInStep(scene: Scene): void {
  const { world } = scene
  const step = world.pick(steps)
  scene.steps.arm({
    step,
    moment: world.pick(['before', 'sent', 'answered'] as const),
    hit(process) {
      if (world.nowMs() > scene.calmLeaderMs) return
      process.kill()
      replace(scene, 'controller', world.spanMs(500, 8_000))
    },
  })
  provoke(scene, step)
}

function stopInStep(scene: Scene): void {
  const { world } = scene
  const step = world.pick(steps)
  scene.steps.arm({
    step,
    moment: world.pick(['before', 'sent', 'answered'] as const),
    hit: process => stand(scene, process, world.spanMs(1_000, 14_000)),
  })
  provoke(scene, step)
}

/** The member that it is sent to hands it on when another may be in office; its process stands still meanwhile. */
function holdWrite(scene: Scene): void {
  const { world, ensemble } = scene
  ensemble.hold.ms = world.spanMs(7_800, 12_500)
  ensemble.hold.matches = (session, ops) => {
    const host = ensemble.sessions.get(session)?.host
    const leader = scene.leader()
    if (leader === null || host !== leader.id) return false
    if (!ops.some(op => op.do !== 'check' && op.path.startsWith('/assignments'))) return false
    if (world.nowMs() < scene.calmLeaderMs) world.after(0, () => stand(scene, leader, ensemble.hold.ms + 1_000))
    return true
  }
  provoke(scene, 'round')
}

/** Something that brings the leader, or the next one, to this step. */
function provoke(scene: Scene, step: Step): void {
  if (step === 'office') scene.world.pick([killController, terminateController])(scene)
  else if (step === 'chore') grow(scene)
  else if (step === 'takeover') killWorker(scene)
  else scene.world.pick([killWorker, terminateWorker, change, grow])(scene)
}

function grow(scene: Scene): void {
  const { world, broker } = scene
  const unit = world.pick([...broker.units.values()])
  const [flow = '', topic = ''] = unit.name.split('/')
  broker.addTopic(flow, topic, growTo(scene, flow, topic), unit)
}

function memberDown(scene: Scene): void {
  const { world, ensemble, excuses } = scene
  const member = world.pick(ensemble.members)
  const end = excuses.begin('*')
  ensemble.kill(member)
  during(scene, world.spanMs(500, 12_000), () => {
    ensemble.start(member)
    end()
  })
}

function allDown(scene: Scene): void {
  const { world, ensemble, excuses } = scene
  const end = excuses.begin('*')
  for (const member of ensemble.members) ensemble.kill(member)
  during(scene, world.happens(0.4) ? world.spanMs(3_500, 7_000) : world.spanMs(1_000, 18_000), () => {
    for (const member of ensemble.members) ensemble.start(member)
    end()
  })
}

function cutMembers(scene: Scene): void {
  const { world, ensemble, excuses } = scene
  const end = excuses.begin('*')
  const one = world.pick(ensemble.members)
  const others = ensemble.members.filter(member => member !== one)
  // Alone, or away from one only.
  const cut = world.happens(0.6) ? others : [world.pick(others)]
  const mends = cut.map(other => block(scene, one.name, other.name, aWay(scene)))
  during(scene, world.spanMs(1_000, 14_000), () => {
    for (const mend of mends) mend()
    end()
  })
}

function slowDisks(scene: Scene): void {
  const { world, ensemble, excuses } = scene
  const end = excuses.begin('*')
  Object.assign(ensemble.disk, { fromMs: 100, toMs: world.spanMs(300, 1_800) })
  during(scene, world.spanMs(1_000, 6_000), () => {
    Object.assign(ensemble.disk, { fromMs: 0.3, toMs: 3 })
    end()
  })
}
