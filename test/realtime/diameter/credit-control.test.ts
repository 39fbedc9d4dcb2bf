/** Which requests a node serves, who may send them, and how their sessions are reached. */
import { beforeEach, describe, expect, it } from 'vitest'
import { compilePeers } from '../../../src/catalog/settings/peers/peers.ts'
import { type ChargeOutcome, plainOutcome } from '../../../src/domain/charge-outcome.ts'
import type { CreditControlClient } from '../../../src/domain/charge-request.ts'
import type { Charge, OnAnswer, ReceivedMessage } from '../../../src/realtime/charge.ts'
import {
  readMessage,
  uint32Of,
  writeMessage,
} from '../../../src/realtime/codecs/diameter-wire/message.ts'
import type { WireCodec } from '../../../src/realtime/codecs/diameter-wire/wire-codec.ts'
import type { DiameterConnection } from '../../../src/realtime/diameter/connection-context.ts'
import { createCreditControl } from '../../../src/realtime/diameter/credit-control.ts'
import { type NamedAvps, namedAvps, wireAvps } from '../../../src/realtime/diameter/named.ts'
import { createOriginStates } from '../../../src/realtime/diameter/origin-states.ts'
import { SessionRegistry } from '../../../src/realtime/diameter/sessions.ts'
import type { MessageFormat, MissingMessageFormat } from '../../../src/realtime/message-formats.ts'
import { useMadeEach } from '../../support/opened.ts'

const identity = { originHost: 'Node1.charging.test', originRealm: 'charging.test' }
const ANSWER = writeMessage({
  flags: 0x40,
  command: 272,
  application: 4,
  hopByHopId: 1,
  endToEndId: 2,
  avps: wireAvps({ 'Result-Code': 2001 }),
})
const wire = {} as WireCodec
const gy = { name: 'GY', parser: 'diameter', wire } as MessageFormat
const json = { name: 'json', parser: 'json', wire: null } as MessageFormat
const unread: MissingMessageFormat = { missing: 'notLoaded', why: 'is not known' }
let outcome: ChargeOutcome | undefined
let answer: Buffer | null

const arrivals = useMadeEach<
  Omit<ReceivedMessage<unknown>, 'body' | 'codec' | 'client' | 'sender'>[]
>(() => [])
const senders = useMadeEach<(CreditControlClient | null)[]>(() => [])
const sent = useMadeEach<NamedAvps[]>(() => [])
beforeEach(() => {
  outcome = plainOutcome('granted', '', 7, 8)
  answer = ANSWER
})

const charge = ((arrival: ReceivedMessage<Buffer>, take: OnAnswer<Buffer>) => {
  const { body: _, codec: __, client: ___, sender, ...rest } = arrival
  arrivals().push(rest)
  senders().push(sender ?? null)
  take('granted', answer, outcome)
}) as Charge

/** A node that requires its peers to be as in `peer`. */
function nodeOf(
  realms = ['*'],
  found: Record<string, MessageFormat | MissingMessageFormat> = { GY: gy, json },
) {
  const registry = new SessionRegistry<DiameterConnection>(10)
  const states = { raise: async () => false }
  const log = { info: () => undefined, warn: () => undefined }
  const onRestart = () => undefined
  const clients = createOriginStates({ open: async () => states, onRestart, log })
  const onRequest = createCreditControl({
    charge,
    identity,
    realms,
    fileType: 'GY',
    registry,
    originStates: clients,
    messageFormats: {
      defaultName: 'json',
      find: (name) => found[name] ?? { missing: 'unknown', why: 'is unknown' },
    },
  })
  return { registry, onRequest }
}

function connectionOf(settings?: object, stateId = 0): DiameterConnection {
  const listed = { name: 'pgw', keys: [], diameter: { origin_host: 'pgw.a.test' }, ...settings }
  const [peer = null] = settings === undefined ? [] : compilePeers([listed]).all
  return {
    isGone: false,
    stateId,
    state: 'open',
    originHost: 'pgw.a.test',
    originRealm: 'A.test',
    remoteAddress: '',
    peer,
    peerName: peer?.name ?? '',
    send: (bytes) => sent().push(namedAvps(readMessage(bytes).avps)),
    request: () => Promise.resolve(null),
  }
}

function ccr(avps: NamedAvps = {}, type = 1): Buffer {
  return writeMessage({
    flags: 0xc0,
    command: 272,
    application: 4,
    hopByHopId: 1,
    endToEndId: 2,
    avps: wireAvps({
      'Session-Id': 's1',
      'Origin-Host': 'gw1.a.test',
      'Origin-Realm': 'a.TEST',
      'Destination-Realm': 'charging.test',
      'CC-Request-Type': type,
      ...avps,
    }),
  })
}

function codeFor(bytes: Buffer, connection = connectionOf(), node = nodeOf()): unknown {
  node.onRequest(connection, bytes)
  return sent().at(-1)?.['Result-Code']
}

describe('a request', () => {
  it.each([
    ['its own realm', {}, 2001],
    ['itself', { 'Destination-Host': 'node1.CHARGING.test' }, 2001],
    ['another host of its realm', { 'Destination-Host': 'node2.charging.test' }, 3002],
    ['another realm that it serves', { 'Destination-Realm': 'served.TEST' }, 2001],
    ['a host there', { 'Destination-Realm': 'served.test', 'Destination-Host': 'x' }, 2001],
    ['another realm', { 'Destination-Realm': 'other.test' }, 3003],
  ])('for %s has the right result code', (_, avps, code) => {
    expect(codeFor(ccr(avps), connectionOf(), nodeOf(['Served.test']))).toBe(code)
    expect(arrivals()).toHaveLength(code === 2001 ? 1 : 0)
  })

  it('is refused if it is of a realm that a listed peer may not send for', () => {
    const foreign = ccr({ 'Origin-Realm': 'b.test' })
    expect(codeFor(foreign)).toBe(2001)
    expect(codeFor(foreign, connectionOf({}))).toBe(5003)
    expect(codeFor(ccr(), connectionOf({}))).toBe(2001)
    const relay = { diameter: { origin_host: 'pgw.a.test', realms: ['B.test'] } }
    expect(codeFor(foreign, connectionOf(relay))).toBe(2001)
    expect(codeFor(ccr({ 'Origin-Realm': 'c.test' }), connectionOf(relay))).toBe(5003)
    const all = { diameter: { origin_host: 'pgw.a.test', realms: ['*'] } }
    expect(codeFor(ccr({ 'Origin-Realm': 'c.test' }), connectionOf(all))).toBe(2001)
  })

  it('is decoded with the file type of its peer', () => {
    const found = { GY: gy, RO: { ...gy, name: 'RO' }, json }
    const node = nodeOf(['*'], found)
    node.onRequest(connectionOf({ file_types: ['json', 'RO'] }), ccr())
    node.onRequest(connectionOf({ file_types: ['RO', 'GY'] }), ccr())
    node.onRequest(connectionOf({}), ccr())
    node.onRequest(connectionOf(), ccr())
    const origin = 'diameter:a.test'
    expect(arrivals()).toEqual([
      { fileType: 'RO', origin, peer: 'pgw', refuseOverRate: null },
      { fileType: 'GY', origin, peer: 'pgw', refuseOverRate: null },
      { fileType: 'GY', origin, peer: 'pgw', refuseOverRate: null },
      { fileType: 'GY', origin, peer: '', refuseOverRate: null },
    ])
  })

  it.each([
    ['not of Diameter', connectionOf({ file_types: ['json'] }), { GY: gy, json }, 5012],
    ['unknown', connectionOf({ file_types: ['X'] }), { GY: gy }, 5012],
    ['not read yet', connectionOf(), { GY: unread }, 3004],
  ])('is answered if its file type is %s', (_, connection, found, code) => {
    expect(codeFor(ccr(), connection, nodeOf(['*'], found))).toBe(code)
    expect(arrivals()).toEqual([])
  })

  it('without an outcome is answered as to be repeated', () => {
    answer = null
    outcome = undefined
    expect(codeFor(ccr())).toBe(3004)
  })
})

describe('a session', () => {
  const known = 'diameter:a.test/GY'

  it('is cached while it is open, with the route to its client', () => {
    const { registry, onRequest } = nodeOf()
    const connection = connectionOf()
    onRequest(connection, ccr())
    const found = registry.find(known, 's1')
    expect(found).toMatchObject({ aid: 7, sid: 8 })
    expect(found && registry.routeTo(found)).toMatchObject({
      originHost: 'gw1.a.test',
      originRealm: 'a.TEST',
      connection,
    })
    onRequest(connection, ccr({}, 3))
    expect(registry.size).toBe(0)
  })

  it.each([
    ['noCredit', 1, 0],
    ['noCredit', 2, 1],
    ['sessionClosed', 2, 0],
    ['unknownSession', 2, 0],
    ['granted', 4, 0],
    ['storeDown', 2, 0],
  ] as const)(
    'is cached only while it is open: %s to a request of type %i',
    (reason, type, size) => {
      const { registry, onRequest } = nodeOf()
      outcome = plainOutcome(reason, '', 7, 8)
      onRequest(connectionOf(), ccr({}, type))
      expect(registry.size).toBe(size)
    },
  )
})

it('stays cached if an update or its end fails', () => {
  const { registry, onRequest } = nodeOf()
  onRequest(connectionOf(), ccr())
  const before = registry.find('diameter:a.test/GY', 's1')?.sequence
  registry.nextSequence()
  outcome = plainOutcome('timedOut', '', 7, 8)
  for (const type of [2, 3]) onRequest(connectionOf(), ccr({}, type))
  expect(registry.find('diameter:a.test/GY', 's1')?.sequence).toBe(before)
})

describe('the state id of a client', () => {
  it.each<[string, NamedAvps, number, CreditControlClient | null]>([
    ['as in the request', { 'Origin-State-Id': 7 }, 5, { name: 'gw1.a.test@a.test', stateId: 7 }],
    ['not that of a relay', {}, 5, null],
    ['not 0', { 'Origin-State-Id': 0 }, 0, null],
    [
      'of the peer itself, from its CER',
      { 'Origin-Host': 'PGW.a.test' },
      5,
      { name: 'pgw.a.test@a.test', stateId: 5 },
    ],
  ])('is passed on with the request: %s', (_what, avps, stateId, sender) => {
    nodeOf().onRequest(connectionOf(undefined, stateId), ccr(avps))
    expect(senders()).toEqual([sender])
  })
})

it('is observed even if the request fails, answered with its own code', () => {
  nodeOf().onRequest(connectionOf(), ccr({ 'Destination-Host': 'x' }))
  expect(sent()).toEqual([
    {
      'Session-Id': 's1',
      'Result-Code': 3002,
      'Origin-Host': identity.originHost,
      'Origin-Realm': identity.originRealm,
      'Auth-Application-Id': 4,
      'CC-Request-Type': 1,
      'Error-Message': 'Destination-Host is not this node',
    },
  ])
  expect(uint32Of(wireAvps(sent()[0] ?? {}), 268)).toBe(3002)
})
