import { describe, expect, it } from 'vitest'
import { compileIdentification } from '../../../../src/rating/identify.ts'
import {
  type Body,
  ccr,
  decode,
} from '../../../support/realtime/codecs/diameter/credit-control-messages.ts'
import { builtIn } from '../../../support/realtime/codecs/diameter/file-type.ts'

describe('a subscriber', () => {
  const { customer_identification_fields: rules } = builtIn() as Body
  const identification = compileIdentification(rules, '972')

  /** The subscribers that are looked up, in order. */
  function candidates(ids: Body): string[] {
    const { 'Subscription-Id': _, ...body } = ccr(1)
    const fields = decode({ ...body, ...ids }).request?.fields ?? {}
    return identification
      .candidates('data', (name) => fields[name])
      .map(({ key, value }) => `${key} ${value}`)
  }
  const plain = (type: number | string, data: string) =>
    candidates({
      'Subscription-Id': [{ 'Subscription-Id-Type': type, 'Subscription-Id-Data': data }],
    })
  const extended = (...members: Body[]) => candidates({ 'Subscription-Id-Extension': members })

  const imsi = '425010000000001'
  it.each([
    ['END_USER_E164', '0501234567', ['msisdn 972501234567']],
    ['END_USER_IMSI', imsi, [`imsi ${imsi}`]],
    ['END_USER_SIP_URI', 'sip:+972501234567@ims.example', ['msisdn 972501234567']],
    ['END_USER_NAI', `${imsi}@realm.example`, [`imsi ${imsi}`]],
    ['END_USER_NAI', imsi, [`imsi ${imsi}`]],
    ['END_USER_PRIVATE', '2001', ['sid 2001']],
    ['END_USER_PRIVATE', 'alice', []],
    [3, '0425@realm.example', ['imsi 0425']],
  ])('with type %s may be %s', (type, data, expected) => {
    expect(plain(type, data)).toEqual(expected)
  })

  it('with a permanent NAI is looked up without the leading 0', () => {
    const permanent = `0${imsi}@nai.epc.mnc001.mcc425.3gppnetwork.org`
    expect(plain('END_USER_NAI', permanent)).toEqual([`imsi ${imsi}`, `imsi 0${imsi}`])
    const member = { 'Subscription-Id-NAI': permanent }
    expect(extended(member)).toEqual([`imsi ${imsi}`, `imsi 0${imsi}`])
  })

  it('may be named by the AVPs of RFC 8506, in any order', () => {
    expect(extended({ 'Subscription-Id-E164': '0501234567' })).toEqual(['msisdn 972501234567'])
    expect(extended({ 'Subscription-Id-SIP-URI': 'tel:+972501234567' })).toEqual([
      'msisdn 972501234567',
    ])
    expect(
      extended(
        { 'Subscription-Id-Private': '2001' },
        { 'Subscription-Id-IMSI': imsi },
        { 'Subscription-Id-E164': '0501234567' },
      ),
    ).toEqual(['msisdn 972501234567', `imsi ${imsi}`, 'sid 2001'])
  })
})
