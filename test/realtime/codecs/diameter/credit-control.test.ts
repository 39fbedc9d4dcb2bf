/** The built-in file type: RFC 8506 and TS 32.299 beyond grants of octets and seconds. */
import { describe, expect, it } from 'vitest'
import {
  type ChargeOutcome,
  plainOutcome,
  type ServiceOutcome,
} from '../../../../src/domain/charge-outcome.ts'
import type { ServiceRequest } from '../../../../src/domain/charge-request.ts'
import { service } from '../../../support/file-types/answers.ts'
import {
  type Body,
  ccr,
  decode,
  formatOf,
  mscc,
} from '../../../support/realtime/codecs/diameter/credit-control-messages.ts'
import { builtIn } from '../../../support/realtime/codecs/diameter/file-type.ts'

function servicesOf(body: Body): readonly ServiceRequest[] {
  return decode(body).request?.services ?? []
}

/** The parsed answer. */
function answer(body: Body, services: ServiceOutcome[], more: Partial<ChargeOutcome> = {}) {
  return answerOf(formatOf(), body, services, more)
}

function answerOf(
  format: ReturnType<typeof formatOf>,
  body: Body,
  services: ServiceOutcome[],
  more: Partial<ChargeOutcome> = {},
) {
  const { envelope } = decode(body, format)
  const outcome = { ...plainOutcome('granted'), services, ...more }
  return JSON.parse(String(format.encode(envelope, outcome)))
}

const groupsOf = (message: Body) => message['Multiple-Services-Credit-Control'] as Body[]
const asked = { 'Rating-Group': 1, 'Requested-Service-Unit': {} }
const CHANGE_MS = 1_795_300_000_000

describe('a tariff change', () => {
  const changing = service({
    ratingGroup: 1,
    granted: 5000,
    validityMs: 60_000,
    tariffChangeMs: CHANGE_MS,
  })

  it('is returned in seconds within the granted units', () => {
    const [group] = groupsOf(answer(mscc(1, asked), [changing]))
    expect(group?.['Granted-Service-Unit']).toEqual({
      'Tariff-Time-Change': 1_795_300_000,
      'CC-Total-Octets': 5000,
    })
    const alone = answer(ccr(1, { 'Requested-Service-Unit': {} }), [changing])
    expect(alone['Granted-Service-Unit']).toEqual(group?.['Granted-Service-Unit'])
    const [none] = groupsOf(answer(mscc(1, asked), [{ ...changing, tariffChangeMs: 0 }]))
    expect(none?.['Granted-Service-Unit']).toEqual({ 'CC-Total-Octets': 5000 })
  })

  const used = (unit: string, context3gpp: string) =>
    servicesOf({
      ...mscc(2, {
        'Rating-Group': 1,
        'Used-Service-Unit': [
          { 'Tariff-Change-Usage': 0, [unit]: 30 },
          { 'Tariff-Change-Usage': 'UNIT_AFTER_TARIFF_CHANGE', [unit]: 12 },
        ],
      }),
      'Service-Context-Id': context3gpp,
    })

  it.each([
    ['data', 'CC-Total-Octets', '32251@3gpp.org'],
    ['data', 'CC-Output-Octets', '32251@3gpp.org'],
    ['data_time', 'CC-Time', '32251@3gpp.org'],
    ['call', 'CC-Time', '32260@3gpp.org'],
    ['sms', 'CC-Service-Specific-Units', '32274@3gpp.org'],
    ['mms', 'CC-Service-Specific-Units', '32270@3gpp.org'],
    ['service', 'CC-Service-Specific-Units', 'other@example.org'],
  ])('splits used units of %s in %s', (usaget, unit, service3gpp) => {
    expect(used(unit, service3gpp)).toMatchObject([{ usaget, used: 42, usedBefore: 30 }])
  })

  it('that a unit does not name, or names ambiguously, splits nothing', () => {
    const report = (...units: Body[]) =>
      servicesOf(mscc(2, { 'Rating-Group': 1, 'Used-Service-Unit': units }))[0]
    const octets = { 'CC-Total-Octets': 5 }
    const before = { ...octets, 'Tariff-Change-Usage': 0 }
    expect(report(octets)).toMatchObject({ used: 5, usedBefore: -1 })
    expect(report(before, octets)).toMatchObject({ used: 10, usedBefore: -1 })
    expect(report(before, { ...octets, 'Tariff-Change-Usage': 2 })).toMatchObject({
      used: 10,
      usedBefore: -1,
    })
  })
})

describe('a service that a filter excludes from charging', () => {
  const conditions = [{ field_name: 'uf.Rating-Group', op: '$eq', value: 9 }]
  const document = { ...builtIn(), filters: [{ conditions, skip_calc: ['all'] }] }
  const format = formatOf(document)
  const free = { 'Rating-Group': 9, 'Requested-Service-Unit': { 'CC-Total-Octets': 7 } }

  it('has 4011 in its own group, without units, while other services are charged', () => {
    const given = service({ ratingGroup: 1, granted: 5000, validityMs: 60_000 })
    const message = answerOf(format, mscc(1, free, asked), [given])
    expect(message['Result-Code']).toBe(2001)
    expect(groupsOf(message)).toMatchObject([
      { 'Rating-Group': 9, 'Result-Code': 4011 },
      { 'Rating-Group': 1, 'Result-Code': 2001 },
    ])
    expect(Object.keys(groupsOf(message)[0] ?? {})).toEqual(['Rating-Group', 'Result-Code'])
  })

  it('has 4011 as a message by itself, and 2001 around a list', () => {
    const alone = answerOf(format, ccr(1, free), [])
    expect(alone).toMatchObject({ 'Result-Code': 4011, 'CC-Session-Failover': 1 })
    expect(alone).not.toHaveProperty('Error-Message')
    expect(alone).not.toHaveProperty('Granted-Service-Unit')
    expect(answerOf(format, mscc(1, free), [])).toMatchObject({ 'Result-Code': 2001 })
  })
})

describe('money units', () => {
  const amount = (digits: number, exponent: number) => ({
    'Unit-Value': { 'Value-Digits': digits, Exponent: exponent },
  })
  const ask = { 'Rating-Group': 1, 'Requested-Service-Unit': { 'CC-Money': amount(125, -2) } }

  it('are requested and reported in micros', () => {
    expect(servicesOf(mscc(1, ask))).toMatchObject([
      { usaget: 'money', requested: 1_250_000, used: 0 },
    ])
    expect(servicesOf(ccr(4, ask))).toMatchObject([{ usaget: 'money', requested: 1_250_000 }])
    const units = [
      { 'Tariff-Change-Usage': 0, 'CC-Money': amount(1, 0) },
      { 'Tariff-Change-Usage': 1, 'CC-Money': { ...amount(5, -1), 'Currency-Code': 978 } },
    ]
    const report = { 'Rating-Group': 1, 'Used-Service-Unit': units }
    expect(servicesOf(mscc(3, report))).toMatchObject([
      { usaget: 'money', requested: -1, used: 1_500_000, usedBefore: 1_000_000 },
    ])
    expect(servicesOf(mscc(2, { ...report, 'Requested-Service-Unit': {} }))).toMatchObject([
      { usaget: 'money', requested: 1_000_000 },
    ])
  })

  it.each([
    [amount(1, -7), 'must be whole micros: at most 6 decimals'],
    [amount(-1, 0), 'must not be negative'],
    [{}, 'must have Value-Digits, a whole number, and perhaps Exponent'],
  ])('%j is refused', (money, why) => {
    const wrong = { 'Rating-Group': 1, 'Requested-Service-Unit': { 'CC-Money': money } }
    const field = 'Multiple-Services-Credit-Control.0.Requested-Service-Unit.CC-Money'
    expect(() => servicesOf(mscc(1, wrong))).toThrow(`${field} ${why}`)
  })

  it('beyond any limit are granted up to the limit, and refused as used units', () => {
    const most = Number.MAX_SAFE_INTEGER
    const all = { 'CC-Total-Octets': String(2n ** 64n - 1n) }
    const sum = { 'CC-Input-Octets': 2 ** 52, 'CC-Output-Octets': 2 ** 52 }
    const huge = { 'CC-Money': amount(1, 20) }
    const group = { 'Rating-Group': 1 }
    for (const type of [1, 2]) {
      for (const asked of [all, sum, huge]) {
        const units = { ...group, 'Requested-Service-Unit': asked }
        expect(servicesOf(mscc(type, units))).toMatchObject([{ requested: most }])
      }
    }
    const refused = / is more than 2\^53 - 1 /
    for (const units of [all, sum, huge]) {
      const used = { ...group, 'Used-Service-Unit': units }
      expect(() => servicesOf(mscc(2, used))).toThrow(refused)
      const event = ccr(4, { 'Requested-Action': 0, 'Requested-Service-Unit': units })
      expect(() => servicesOf(event)).toThrow(refused)
    }
  })

  const given = service({ ratingGroup: 1, usaget: 'money', granted: 1_250_000, validityMs: 1000 })

  it('are granted as an amount, with its currency if there is one', () => {
    const [group] = groupsOf(answer(mscc(1, ask), [given]))
    expect(group?.['Granted-Service-Unit']).toEqual({ 'CC-Money': amount(125, -2) })
    expect(group).not.toHaveProperty('Unit-Quota-Threshold')
    const inEuros = formatOf(builtIn(), 978)
    const expected = { 'CC-Money': { ...amount(125, -2), 'Currency-Code': 978 } }
    const [euros] = groupsOf(answerOf(inEuros, mscc(1, ask), [given]))
    expect(euros?.['Granted-Service-Unit']).toEqual(expected)
    const event = { ...given, validityMs: 0 }
    expect(answerOf(inEuros, ccr(4, ask), [event])['Granted-Service-Unit']).toEqual(expected)
    const [none] = groupsOf(answerOf(inEuros, mscc(1, ask), [service({ usaget: 'money' })]))
    expect(none).not.toHaveProperty('Granted-Service-Unit')
  })
})

describe('Cost-Information', () => {
  const cost = { cost: 2_750_000 }

  it('is the cost of a session at its end, if it is not zero', () => {
    const ended = [service({ ratingGroup: 1, cost: 2_750_000 })]
    const last = mscc(3, { 'Rating-Group': 1 })
    const unit = { 'Value-Digits': 275, Exponent: -2 }
    const expected = { 'Unit-Value': unit, 'Currency-Code': 999 }
    expect(answer(last, ended, cost)['Cost-Information']).toEqual(expected)
    expect(answer(ccr(3), [], cost)['Cost-Information']).toEqual(expected)
    const euros = answerOf(formatOf(builtIn(), 978), last, ended, cost)
    expect(euros['Cost-Information']).toEqual({ ...expected, 'Currency-Code': 978 })
    expect(answer(last, ended, { cost: 0 })).not.toHaveProperty('Cost-Information')
    expect(answer(mscc(2, asked), ended, cost)).not.toHaveProperty('Cost-Information')
    const unknown = answer(last, [], { reason: 'unknownSession' })
    expect(unknown).not.toHaveProperty('Cost-Information')
  })

  it('is the price that was requested, with its currency', () => {
    const exact = { aprice: '1.25', tax: '0.2125', final_charge: '1.4625' }
    const quote = { charge: { exact } } as unknown as ServiceOutcome['quote']
    const enquiry = ccr(4, { 'Requested-Action': 3, 'Requested-Service-Unit': { 'CC-Time': 60 } })
    const priced = [service({ usaget: 'call', granted: 60, quote })]
    expect(answer(enquiry, priced)['Cost-Information']).toEqual({
      'Unit-Value': { 'Value-Digits': 14_625, Exponent: -4 },
      'Currency-Code': 999,
    })
    expect(answer(enquiry, [], { reason: 'noCredit' })).not.toHaveProperty('Cost-Information')
  })
})

describe('the failure rules of a session', () => {
  const given = [service({ ratingGroup: 1, granted: 5000, validityMs: 60_000 })]
  const rulesOf = (message: Body) => [
    message['CC-Session-Failover'],
    message['Credit-Control-Failure-Handling'],
  ]

  it('are returned when it starts, and not again', () => {
    expect(rulesOf(answer(mscc(1, asked), given))).toEqual([1, 2])
    const named = { ...mscc(1, asked), 'CC-Request-Type': 'INITIAL_REQUEST' }
    expect(rulesOf(answer(named, given))).toEqual(['FAILOVER_SUPPORTED', 'RETRY_AND_TERMINATE'])
    for (const type of [2, 3, 4]) {
      expect(rulesOf(answer(mscc(type, asked), given))).toEqual([undefined, undefined])
    }
    const refused = answer(mscc(1, asked), [], { reason: 'noCredit' })
    expect(rulesOf(refused)).toEqual([undefined, undefined])
    const failed = answer(mscc(1, asked), [], { reason: 'storeDown' })
    expect(rulesOf(failed)).toEqual([undefined, undefined])
  })
})

describe('a group of a service', () => {
  const given = service({ ratingGroup: 1, granted: 5000, validityMs: 999, finalUnit: true })
  const other = service({ ratingGroup: 2, reason: 'noCredit', finalUnit: true })

  it('has a return code in every answer, also at the end of the session', () => {
    const both = mscc(3, { 'Rating-Group': 1 }, { 'Rating-Group': 2 })
    const settled = [service({ ratingGroup: 1 }), service({ ratingGroup: 2 })]
    const codes = (message: Body) => groupsOf(message).map((group) => group['Result-Code'])
    expect(codes(answer(both, settled))).toEqual([2001, 2001])
    expect(codes(answer(both, [], { reason: 'sessionClosed' }))).toEqual([5002, 5002])
    const more = { ...asked, 'Rating-Group': 2 }
    expect(codes(answer(mscc(2, asked, more), [given, other]))).toEqual([2001, 4012])
  })

  it('has the AVPs of TS 32.299, and a validity of at least a second', () => {
    const [group] = groupsOf(answer(mscc(2, asked), [given]))
    expect(group).toEqual({
      'Granted-Service-Unit': { 'CC-Total-Octets': 5000 },
      'Rating-Group': 1,
      'Validity-Time': 1,
      'Result-Code': 2001,
      'Final-Unit-Indication': { 'Final-Unit-Action': 0 },
      'Quota-Holding-Time': 600,
      'Volume-Quota-Threshold': 1000,
    })
  })

  it('has its threshold in the unit of its quota', () => {
    const thresholdOf = (usaget: string) =>
      Object.keys(groupsOf(answer(mscc(2, asked), [{ ...given, usaget }]))[0] ?? {}).at(-1)
    expect(['data', 'call', 'data_time', 'sms'].map(thresholdOf)).toEqual([
      'Volume-Quota-Threshold',
      'Time-Quota-Threshold',
      'Time-Quota-Threshold',
      'Unit-Quota-Threshold',
    ])
  })

  it.each(['Used-Service-Unit', 'group'])('may have its reporting reason in the %s', (place) => {
    const reason = { 'Reporting-Reason': 'VALIDITY_TIME' }
    const unit = { 'CC-Total-Octets': 5, ...(place === 'group' ? {} : reason) }
    const group = { 'Rating-Group': 1, 'Used-Service-Unit': unit }
    const report = mscc(2, place === 'group' ? { ...group, ...reason } : group)
    expect(servicesOf(report)).toMatchObject([{ used: 5, requested: -1 }])
  })
})

describe('a message that is itself the service', () => {
  const last = service({ usaget: 'call', granted: 60, validityMs: 60_000, finalUnit: true })
  const call = (type: number) => ccr(type, { 'Requested-Service-Unit': { 'CC-Time': 60 } })
  const withFinal = (final_unit: object) => {
    const document = builtIn()
    return formatOf({ ...document, realtime: { ...document.realtime, final_unit } })
  }

  it('receives the final unit action with its last units, except for an event', () => {
    expect(answer(call(1), [last])['Final-Unit-Indication']).toEqual({ 'Final-Unit-Action': 0 })
    expect(answer(call(4), [last])).not.toHaveProperty('Final-Unit-Indication')
    const address = { address_type: 'sip', address: 'sip:top@up.example' }
    const redirect = withFinal({ action: 'redirect', ...address })
    expect(answerOf(redirect, call(2), [last])['Final-Unit-Indication']).toEqual({
      'Final-Unit-Action': 1,
      'Redirect-Server': {
        'Redirect-Address-Type': 3,
        'Redirect-Server-Address': 'sip:top@up.example',
      },
    })
    const restrict = withFinal({ action: 'restrict', filters: ['deny in ip from any to any'] })
    expect(answerOf(restrict, call(2), [last])['Final-Unit-Indication']).toEqual({
      'Final-Unit-Action': 2,
      'Restriction-Filter-Rule': 'deny in ip from any to any',
    })
  })
})
