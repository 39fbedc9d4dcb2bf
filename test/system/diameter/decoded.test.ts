import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { avp } from '../../../src/realtime/codecs/diameter-wire/message.ts'
import { command, flags } from '../../../src/realtime/codecs/diameter-wire/protocol.ts'
import type { NamedAvps } from '../../../src/realtime/diameter/named.ts'
import { useMade } from '../../support/opened.ts'
import { FIRST_SID } from '../../support/product/population.ts'
import { tollgate } from '../../support/system/command.ts'
import {
  creditControl,
  dataSession,
  GATEWAY,
  granted,
  MIB,
  NODE_SETTINGS,
  service,
  subscription,
} from '../../support/system/diameter/gateway-requests.ts'
import {
  type Ask,
  capabilitiesOf,
  connectLink,
  type Link,
  type Message,
  openLink,
} from '../../support/system/diameter/link.ts'
import { useNode } from '../../support/system/outages/node.ts'
import { hasTshark, type SharkAvp, type SharkMessage, tsharkOf } from '../../support/tshark.ts'
import { waitUntil } from '../../support/wait.ts'

/** More than the credit of a subscriber, in MiB. */
const TOO_MUCH = 20_000
/** A barred subscriber of the demo catalogue. */
const BARRED: NamedAvps = {
  'Subscription-Id': { 'Subscription-Id-Type': 0, 'Subscription-Id-Data': '447700900004' },
}
const SMS = '32274@3gpp.org'
const MMS = '32270@3gpp.org'

const [payer, exhausted, topped, released, ending] = [0, 1, 2, 3, 4].map(
  (index) => FIRST_SID + index,
) as [number, number, number, number, number]
const first = (name: string, more: NamedAvps) => creditControl(name, 'initial', 0, more)
const event = (name: string, action: number, number = 0) =>
  creditControl(name, 'event', number, {
    'Service-Context-Id': SMS,
    'Requested-Action': action,
    ...subscription(payer),
    'Requested-Service-Unit': { 'CC-Service-Specific-Units': 2 },
  })
const without = (name: string, avps: NamedAvps): NamedAvps =>
  Object.fromEntries(Object.entries(avps).filter(([key]) => key !== name))

const session = dataSession('decoded;1', 0)
const asks = (sid: number, asked = 5) => ({ ...subscription(sid), ...service({ asked }) })

/** Requests, and the Result-Code of their answers. */
const CASES: readonly [code: number, name: string, avps: NamedAvps, ask?: Ask][] = [
  [2001, 'a session', session.initial(5)],
  [2001, 'its update', session.update(1, { asked: 5, used: 5 })],
  [2001, 'its end', session.termination(2, 5)],
  [2001, 'the last units', first('decoded;2', asks(exhausted, TOO_MUCH))],
  [4012, 'no credit', first('decoded;3', asks(exhausted))],
  [2001, 'a debit', event('decoded;4', 0)],
  [2001, 'its refund', event('decoded;4', 1, 1)],
  [2001, 'a check of the balance', event('decoded;6', 2)],
  [2001, 'a price enquiry', event('decoded;7', 3)],
  [5030, 'nobody', first('decoded;8', asks(77))],
  [4010, 'who is barred', first('decoded;9', { ...BARRED, ...service({ asked: 5 }) })],
  [5002, 'a session that is not there', dataSession('decoded;no', 0).update(1, { used: 1 })],
  [
    5031,
    'a service without a rate',
    first('decoded;10', { ...asks(payer), 'Service-Context-Id': MMS }),
  ],
  [
    3002,
    'another host',
    first('decoded;11', { ...asks(payer), 'Destination-Host': 'a.node.example' }),
  ],
  [
    3003,
    'another realm',
    { ...first('decoded;12', asks(payer)), 'Destination-Realm': 'no.example' },
  ],
  [3007, 'another application', first('decoded;13', asks(payer)), { application: 16777238 }],
  [
    3008,
    'an error that is a request',
    first('decoded;14', asks(payer)),
    { flags: flags.proxiable | flags.error },
  ],
  [5004, 'a type that is none', { ...first('decoded;15', asks(payer)), 'CC-Request-Type': 9 }],
  [5005, 'no type', without('CC-Request-Type', first('decoded;16', asks(payer)))],
  [5005, 'no session', without('Session-Id', first('', asks(payer)))],
  [5009, 'two numbers', { ...first('decoded;17', asks(payer)), 'CC-Request-Number': [0, 1] }],
  [5014, 'a short number', { ...first('decoded;18', asks(payer)), 'CC-Request-Number': '0x0001' }],
  [
    2001,
    'what proxies want back',
    {
      ...first('decoded;19', asks(payer)),
      'Proxy-Info': { 'Proxy-Host': 'proxy.client.example', 'Proxy-State': 'abc' },
    },
  ],
]

describe('the messages of the node', () => {
  const environment: Record<string, string> = {
    ...NODE_SETTINGS,
    TOLLGATE_DIAMETER_REALMS: 'served.example',
  }
  const links: Link[] = []
  let link: Link
  /** It contains an unknown AVP, of which tshark warns as well. */
  let notKnown: Message

  const keep = (one: Link) => {
    links.push(one)
    return one
  }
  const connect = async () =>
    keep(await connectLink({ port: node().product.diameterPort, identity: GATEWAY }))
  const restart = async (settings: Record<string, string>) => {
    expect(await node().product.terminate('realtime')).toBe(0)
    Object.assign(environment, settings)
    await node().product.start('realtime')
    link = await connect()
  }

  const node = useNode({ subscribers: 5, environment })
  beforeAll(async () => {
    await node().product.start('realtime')
    link = await connect()
  })
  afterAll(async () => {
    for (const one of links) await one.close()
  })

  it.each(CASES)('answer %i for %s', async (code, _, avps, ask) => {
    const answer = await link.ask(command.creditControl, avps, ask)
    expect(answer.named).toMatchObject({ 'Result-Code': code })
    expect((answer.flags & flags.error) !== 0).toBe(code >= 3000 && code < 4000)
  })

  it('answer 5001 for an unknown AVP with the M bit', async () => {
    const other = await connectLink({ port: node().product.diameterPort, identity: GATEWAY })
    const asked = first('decoded;21', asks(payer))
    const more = { avps: [avp(9999, Buffer.from('abc'))] }
    notKnown = await other.ask(command.creditControl, asked, more)
    await other.close()
    expect(notKnown.named).toMatchObject({ 'Result-Code': 5001 })
  })

  it('answer 3001 for an unsupported command', async () => {
    const end = { 'Session-Id': 'decoded;20', ...GATEWAY, 'Destination-Realm': 'node.example' }
    const asked = { ...end, 'Auth-Application-Id': 4, 'Termination-Cause': 1 }
    const answer = await link.ask(command.sessionTermination, asked)
    expect(answer.named).toMatchObject({ 'Result-Code': 3001 })
  })

  it.each<[number, NamedAvps]>([
    [5010, { ...capabilitiesOf(GATEWAY), 'Auth-Application-Id': 16777238 }],
    [5005, without('Product-Name', capabilitiesOf(GATEWAY))],
  ])('answer %i for a peer that is not accepted', async (code, capabilities) => {
    const port = node().product.diameterPort
    const other = keep(await openLink({ port, identity: GATEWAY }))
    const answer = await other.ask(command.capabilitiesExchange, capabilities)
    expect(answer.named).toMatchObject({ 'Result-Code': code })
  })

  it('request re-authorization and abort of sessions', async () => {
    await link.ask(command.creditControl, first('decoded;topped', asks(topped)))
    const add = ['balance', 'add', '--sid', String(topped), '--include', '1', '--amount', '1']
    expect(await tollgate(node().product, add)).toMatchObject({ code: 0 })
    await link.receives(command.reAuth, 'request')
    await link.ask(command.creditControl, first('decoded;released', asks(released)))
    const release = await tollgate(node().product, ['session', 'release', 'decoded;released'])
    expect(release).toMatchObject({ code: 0, stderr: '' })
    const asked = await link.receives(command.abortSession, 'request')
    expect(asked.named).toMatchObject({ 'Session-Id': 'decoded;released' })
  })

  it('disconnect a peer', async () => {
    const other = await connect()
    expect((await other.ask(command.watchdog, GATEWAY)).named).toMatchObject({
      'Result-Code': 2001,
    })
    const leave = await other.ask(command.disconnectPeer, { ...GATEWAY, 'Disconnect-Cause': 0 })
    expect(leave.named).toMatchObject({ 'Result-Code': 2001 })
  })

  it('name the redirect server at the end of the credit, and the quota holding time', async () => {
    await restart({
      TOLLGATE_SESSION_FINAL_UNIT_ACTION: 'redirect',
      TOLLGATE_SESSION_REDIRECT_ADDRESS: 'https://shop.example/top-up',
      TOLLGATE_SESSION_QUOTA_HOLDING_MS: '600000',
      TOLLGATE_SESSION_QUOTA_THRESHOLD_PERCENT: '20',
    })
    const asked = first('decoded;redirected', asks(ending, TOO_MUCH))
    const answer = await link.ask(command.creditControl, asked)
    expect(answer.named['Multiple-Services-Credit-Control']).toMatchObject({
      'Final-Unit-Indication': {
        'Final-Unit-Action': 1,
        'Redirect-Server': { 'Redirect-Server-Address': 'https://shop.example/top-up' },
      },
      'Quota-Holding-Time': 600,
    })
  })

  it('redirect a session without credit, and ask for it after a top-up', async () => {
    const poor = dataSession('decoded;poor', 4)
    expect((await link.ask(command.creditControl, poor.initial(5))).named).toMatchObject({
      'Result-Code': 2001,
      'Multiple-Services-Credit-Control': {
        'Result-Code': 2001,
        'Validity-Time': expect.any(Number),
        'Final-Unit-Indication': { 'Final-Unit-Action': 1 },
      },
    })
    // It opens a bucket.
    const add = ['balance', 'add', '--sid', String(ending), '--include', '2']
    const amount = ['--amount', String(10 * MIB)]
    expect(await tollgate(node().product, [...add, ...amount])).toMatchObject({ code: 0 })
    const isItsRar = ({ command: code, named }: Message) =>
      code === command.reAuth && named['Session-Id'] === 'decoded;poor'
    await waitUntil('the RAR', () => link.received.some(isItsRar))
    const now = { 'Event-Timestamp': new Date().toISOString() }
    const asked = { ...poor.update(1, { asked: 5 }), ...now }
    const update = await link.ask(command.creditControl, asked)
    expect(update.named).toMatchObject(granted(5))
    const end = await link.ask(command.creditControl, poor.termination(2, 5))
    expect(end.named).toMatchObject({ 'Result-Code': 2001 })
  })

  it.each([
    ['Restriction-Filter-Rule', 'permit in ip from any to 192.0.2.7'],
    ['Filter-Id', 'portal'],
  ])('name the permitted traffic at the end of the credit: %s', async (name, filter) => {
    await restart({
      TOLLGATE_SESSION_FINAL_UNIT_ACTION: 'restrict',
      TOLLGATE_SESSION_RESTRICTION_FILTERS: filter,
    })
    const asked = first(`decoded;${name}`, asks(released, TOO_MUCH))
    const answer = await link.ask(command.creditControl, asked)
    expect(answer.named['Multiple-Services-Credit-Control']).toMatchObject({
      'Final-Unit-Indication': { 'Final-Unit-Action': 2, [name]: filter },
    })
    const end = dataSession(`decoded;${name}`, 0).termination(1, 0)
    expect((await link.ask(command.creditControl, end)).named).toMatchObject({
      'Result-Code': 2001,
    })
  })

  it('check an idle peer, and disconnect it when the node stops', async () => {
    await restart({ TOLLGATE_DIAMETER_WATCHDOG_MS: '1000' })
    await link.receives(command.watchdog, 'request')
    expect(await node().product.terminate('realtime')).toBe(0)
    await link.receives(command.disconnectPeer, 'request')
  })

  describe.skipIf(!hasTshark)('decoded by tshark (not installed: skipped)', () => {
    const decoded = useMade(() =>
      tsharkOf(links.flatMap(({ received }) => received.map(({ bytes }) => bytes))),
    )

    it('cause no warning', () => {
      const commands = new Set(decoded().map((message) => message.command))
      expect([...commands].sort()).toEqual([257, 258, 272, 274, 275, 280, 282])
      expect(
        decoded()
          .filter(({ problems }) => problems.length > 0)
          .map(shown),
      ).toEqual([])
    })

    it('show the AVP that the node does not know', async () => {
      const [answer] = await tsharkOf([notKnown.bytes])
      const failed = answer?.avps.find(({ name }) => name === 'Failed-AVP')
      expect(failed?.avps).toMatchObject([{ code: 9999, value: '61:62:63' }])
      expect(answer?.problems).toEqual([expect.stringContaining('Unknown AVP 9999')])
    })

    it('have known names and values', () => {
      const all = decoded().flatMap(({ avps }) => avps.flatMap(withMembers))
      expect(all.filter(({ name }) => name === undefined)).toEqual([])
      const codes = decoded()
        .flatMap(({ avps }) => avps)
        .filter(({ code }) => code === 268)
      expect(codes.map(({ value }) => Number(value))).toEqual(expect.arrayContaining([2001, 5014]))
    })
  })
})

function shown({ command: code, avps, problems }: SharkMessage): unknown {
  return [code, avps.map(({ name, value }) => `${name}: ${value}`), problems]
}

function withMembers(avp: SharkAvp): SharkAvp[] {
  return [avp, ...avp.avps.flatMap(withMembers)]
}
