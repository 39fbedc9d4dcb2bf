import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { FIRST_SID } from '../../support/product/population.ts'
import { tollgate } from '../../support/system/command.ts'
import { MIB, NODE, NODE_SETTINGS } from '../../support/system/diameter/gateway-requests.ts'
import {
  connectPackage,
  type PackageClient,
  type Pairs,
} from '../../support/system/diameter/package-client.ts'
import { MONEY, money, startNode, type TestNode } from '../../support/system/outages/node.ts'
import { waitUntil } from '../../support/wait.ts'

const SUCCESS = 'DIAMETER_SUCCESS'
/** Micros of one message in the demo catalogue. */
const SMS_PRICE = 40_000

describe('the package diameter as a client', () => {
  let node: TestNode
  let client: PackageClient

  beforeAll(async () => {
    node = await startNode({ subscribers: 4, environment: NODE_SETTINGS })
    await node.product.start('realtime')
    client = await connectPackage(node.product.diameterPort)
  })
  afterAll(async () => {
    await client?.close()
    await node?.stop()
  })

  const ask = (sessionId: string, type: string, number: number, avps: Pairs) =>
    client.ask('Credit-Control', sessionId, [
      ['Destination-Realm', NODE['Origin-Realm']],
      ['Auth-Application-Id', 'Diameter Credit Control'],
      ['Service-Context-Id', '32251@3gpp.org'],
      ['CC-Request-Type', type],
      ['CC-Request-Number', number],
      ...avps,
    ])
  const subscription = (sid: number): Pairs => [
    [
      'Subscription-Id',
      [
        ['Subscription-Id-Type', 'END_USER_E164'],
        ['Subscription-Id-Data', `88800${String(sid).padStart(9, '0')}`],
      ],
    ],
  ]
  const octets = (name: string, mib: number) => [name, [['CC-Total-Octets', mib * MIB]]] as const
  const service = (asked: number, used: number): Pairs => [
    [
      'Multiple-Services-Credit-Control',
      [
        ...(asked === 0 ? [] : [octets('Requested-Service-Unit', asked)]),
        octets('Used-Service-Unit', used),
        ['Rating-Group', 20],
      ],
    ],
  ]
  const event = (sessionId: string, number: number, action: string, messages: number) =>
    client.ask('Credit-Control', sessionId, [
      ['Destination-Realm', NODE['Origin-Realm']],
      ['Auth-Application-Id', 'Diameter Credit Control'],
      ['Service-Context-Id', '32274@3gpp.org'],
      ['CC-Request-Type', 'EVENT_REQUEST'],
      ['CC-Request-Number', number],
      ['Requested-Action', action],
      ...subscription(FIRST_SID + 1),
      ['Requested-Service-Unit', [['CC-Service-Specific-Units', messages]]],
    ])

  it('has a complete session', async () => {
    const opened = await ask('package;1', 'INITIAL_REQUEST', 0, [
      ...subscription(FIRST_SID),
      ...service(5, 0),
    ])
    expect(opened).toMatchObject({
      ...NODE,
      'Session-Id': 'package;1',
      'Result-Code': SUCCESS,
      isError: false,
      'CC-Request-Type': 'INITIAL_REQUEST',
      'CC-Request-Number': 0,
      'Multiple-Services-Credit-Control': {
        'Result-Code': SUCCESS,
        'Rating-Group': 20,
        'Granted-Service-Unit': { 'CC-Total-Octets': 5 * MIB },
      },
    })
    expect(await node.moneyOf(FIRST_SID)).toEqual(money(0, 5))
    const updated = await ask('package;1', 'UPDATE_REQUEST', 1, service(4, 5))
    expect(updated).toMatchObject({
      'Result-Code': SUCCESS,
      'Multiple-Services-Credit-Control': {
        'Granted-Service-Unit': { 'CC-Total-Octets': 4 * MIB },
      },
    })
    expect(await node.moneyOf(FIRST_SID)).toEqual(money(5, 4))
    const ended = await ask('package;1', 'TERMINATION_REQUEST', 2, service(0, 3))
    expect(ended).toMatchObject({ 'Result-Code': SUCCESS, 'CC-Request-Number': 2 })
    expect(await node.moneyOf(FIRST_SID)).toEqual(money(8, 0))
  })

  it('is charged for events, refunded, and answered price enquiries', async () => {
    const paid = (spent: number) => ({ credited: MONEY, spent, reserved: 0, free: MONEY - spent })
    const sid = FIRST_SID + 1
    const debited = await event('package;e1', 0, 'DIRECT_DEBITING', 3)
    expect(debited).toMatchObject({
      'Result-Code': SUCCESS,
      'CC-Request-Type': 'EVENT_REQUEST',
      'Granted-Service-Unit': { 'CC-Service-Specific-Units': 3 },
    })
    expect(await node.moneyOf(sid)).toEqual(paid(3 * SMS_PRICE))
    const checked = await event('package;e2', 0, 'CHECK_BALANCE', 1)
    expect(checked).toMatchObject({
      'Result-Code': SUCCESS,
      'Check-Balance-Result': 'ENOUGH_CREDIT',
    })
    const priced = await event('package;e3', 0, 'PRICE_ENQUIRY', 2)
    expect(priced).toMatchObject({ 'Result-Code': SUCCESS, 'Cost-Information': {} })
    expect(await node.moneyOf(sid)).toEqual(paid(3 * SMS_PRICE))
    const refunded = await event('package;e1', 1, 'REFUND_ACCOUNT', 3)
    expect(refunded).toMatchObject({ 'Result-Code': SUCCESS })
    expect(await node.moneyOf(sid)).toMatchObject({ free: MONEY, reserved: 0 })
  })

  it('receives an error code for invalid requests', async () => {
    const unknown = await ask('package;2', 'INITIAL_REQUEST', 0, [
      ...subscription(77),
      ...service(1, 0),
    ])
    expect(unknown).toMatchObject({ 'Result-Code': 'DIAMETER_USER_UNKNOWN', isError: false })
    const late = await ask('package;none', 'UPDATE_REQUEST', 1, service(1, 1))
    expect(late).toMatchObject({ 'Result-Code': 'DIAMETER_UNKNOWN_SESSION_ID' })
    const elsewhere = await client.ask('Credit-Control', 'package;3', [
      ['Destination-Realm', NODE['Origin-Realm']],
      ['Destination-Host', 'another.node.example'],
      ['Auth-Application-Id', 'Diameter Credit Control'],
      ['Service-Context-Id', '32251@3gpp.org'],
      ['CC-Request-Type', 'INITIAL_REQUEST'],
      ['CC-Request-Number', 0],
      ...subscription(FIRST_SID),
    ])
    expect(elsewhere).toMatchObject({ 'Result-Code': 'DIAMETER_UNABLE_TO_DELIVER', isError: true })
  })

  it('receives a RAR after a top-up', async () => {
    const sid = FIRST_SID + 2
    await ask('package;4', 'INITIAL_REQUEST', 0, [...subscription(sid), ...service(5, 0)])
    const add = ['balance', 'add', '--sid', String(sid), '--include', '1', '--amount', '1']
    expect(await tollgate(node.product, add)).toMatchObject({ code: 0 })
    await waitUntil('a request of the node', () => client.asked.length > 0)
    expect(client.asked[0]).toMatchObject({
      command: 'Re-Auth',
      'Session-Id': 'package;4',
      ...NODE,
      'Re-Auth-Request-Type': 'AUTHORIZE_ONLY',
    })
    await ask('package;4', 'TERMINATION_REQUEST', 1, service(0, 0))
  })
})
