import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  type ChargeOutcome,
  plainOutcome,
  type Reason,
  type ServiceOutcome,
} from '../../../../src/domain/charge-outcome.ts'
import type { AnswerSettings } from '../../../../src/file-types/file-type.ts'
import { createJsonCodec } from '../../../../src/realtime/codecs/json/codec.ts'
import { service } from '../../../support/realtime/codecs/answers.ts'
import { ANSWERS } from '../../../support/realtime/codecs/settings.ts'

const envelope = {
  recordType: 'update_request',
  sessionId: 's',
  requestNumber: -1,
  isServiceList: false,
  wantsCost: false,
}
const granted: ServiceOutcome = {
  ...{ ...service, ratingGroup: 1, granted: 1000 },
  ...{ validityMs: 60_000, cost: 1_500_000 },
}
const outcome = { ...plainOutcome('granted'), cost: 2_750_000, services: [granted] }

const answerOf = (
  settings: Partial<AnswerSettings>,
  asked: Partial<typeof envelope> = {},
  what: ChargeOutcome = outcome,
) => {
  const codec = createJsonCodec({ ...ANSWERS, ...settings })
  return JSON.parse(codec.encode({ ...envelope, ...asked }, what))
}
const withService = (changes: Partial<ServiceOutcome>) => ({
  ...outcome,
  services: [{ ...granted, ...changes }],
})

describe('the holding time and threshold of a grant', () => {
  const both = { quotaHoldingMs: 90_001, thresholdPercent: 20 }

  it('are those of the settings', () => {
    expect(answerOf(both)).toMatchObject({ quotaHoldingTime: 91, threshold: 200 })
    expect(answerOf({ quotaHoldingMs: 1 })).toMatchObject({ quotaHoldingTime: 1 })
    expect(answerOf({ quotaHoldingMs: 1 })).not.toHaveProperty('threshold')
    expect(answerOf({ thresholdPercent: 1 })).not.toHaveProperty('quotaHoldingTime')
    const [service] = answerOf(both, { isServiceList: true }).services
    expect(service).toMatchObject({ quotaHoldingTime: 91, threshold: 200 })
  })

  it.each([
    ['nothing is configured', {}, {}],
    ['nothing is granted', both, { granted: 0, validityMs: 0 }],
  ])('are absent if %s', (_, settings, changes) => {
    const answer = answerOf(settings, {}, withService(changes))
    expect(answer).not.toHaveProperty('quotaHoldingTime')
    expect(answer).not.toHaveProperty('threshold')
  })

  it('are exact up to the largest grant', () => {
    const volume = fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER })
    fc.assert(
      fc.property(volume, fc.integer({ min: 1, max: 99 }), (units, percent) => {
        const answer = answerOf({ thresholdPercent: percent }, {}, withService({ granted: units }))
        expect(BigInt(answer.threshold)).toBe((BigInt(units) * BigInt(percent)) / 100n)
      }),
    )
  })
})

describe('the final unit', () => {
  const final = withService({ finalUnit: true })
  const fields = ['finalUnitAction', 'redirectAddress', 'redirectAddressType', 'restrictionFilters']
  const finalUnitOf = (settings: Partial<AnswerSettings>, what: ChargeOutcome = final) => {
    const answer = answerOf(settings, {}, what)
    return Object.fromEntries(
      fields.filter((name) => name in answer).map((name) => [name, answer[name]]),
    )
  }

  it.each<[AnswerSettings['finalUnit'], object]>([
    [{ action: 'none' }, {}],
    [{ action: 'terminate' }, { finalUnitAction: 'terminate' }],
    [
      { action: 'redirect', addressType: 'url', address: 'https://a/"' },
      {
        finalUnitAction: 'redirect',
        redirectAddress: 'https://a/"',
        redirectAddressType: 'url',
      },
    ],
    [
      { action: 'restrict', filters: ['permit in ip from any to 10.0.0.1', '"'] },
      {
        finalUnitAction: 'restrict',
        restrictionFilters: ['permit in ip from any to 10.0.0.1', '"'],
      },
    ],
    [{ action: 'restrict', filters: [] }, { finalUnitAction: 'restrict' }],
  ])('is written for %j', (finalUnit, expected) => {
    expect(finalUnitOf({ finalUnit })).toEqual(expected)
    expect(finalUnitOf({ finalUnit }, outcome)).toEqual({})
    expect(answerOf({ finalUnit }, {}, final).finalUnit).toBe(true)
  })
})

describe('the cost', () => {
  const asked = { wantsCost: true }

  it('is returned if requested: of the session, and of each service', () => {
    expect(answerOf({}, asked).cost).toBe(2.75)
    expect(answerOf({})).not.toHaveProperty('cost')
    expect(answerOf({}, { ...asked, isServiceList: true })).toMatchObject({
      cost: 2.75,
      services: [{ cost: 1.5, grantedVolume: 1000 }],
    })
    expect(answerOf({}, asked, plainOutcome('granted')).cost).toBe(0)
    expect(answerOf({}, asked, { ...outcome, reason: 'noCredit' }).cost).toBe(2.75)
  })

  it.each<Reason>(['outOfOrder', 'unknownSession', 'timedOut'])('is unknown: %s', (reason) => {
    expect(answerOf({}, asked, plainOutcome(reason))).not.toHaveProperty('cost')
  })
})

it('return codes are those of the settings everywhere', () => {
  const returnCodes = { ...ANSWERS.returnCodes, granted: 2001, noCredit: 4012, malformed: 5004 }
  const what = withService({ reason: 'noCredit' })
  expect(answerOf({ returnCodes }, { isServiceList: true }, what)).toMatchObject({
    returnCode: 2001,
    services: [{ returnCode: 4012 }],
  })
  const detailed = { ...outcome, detail: 'the session had expired' }
  expect(answerOf({ returnCodes }, {}, detailed).returnCode).toBe(2001)
  const codec = createJsonCodec({ ...ANSWERS, returnCodes })
  const error = JSON.parse(codec.encodeError({ field: 'body', why: 'is empty' }))
  expect(error.returnCode).toBe(5004)
})
