/** Answers while an action of an event rule is in force, in bytes and as JSON. */
import { describe, expect, it } from 'vitest'
import { plainOutcome, type ServiceOutcome } from '../../../../src/domain/charge-outcome.ts'
import { service } from '../../../support/file-types/answers.ts'
import { context, json, wire } from '../../../support/realtime/codecs/diameter-wire/codecs.ts'
import { composed, data } from '../../../support/realtime/codecs/diameter-wire/composed.ts'
import {
  messageOf,
  type Tree,
  treeOf,
} from '../../../support/realtime/codecs/diameter-wire/trees.ts'

const PAGE = 'https://shop.example.net/cap'
const redirected: Partial<ServiceOutcome> = {
  granted: 0,
  validityMs: 60_000,
  finalUnit: true,
  action: { type: 'redirect', address: PAGE },
}
const throttled: Partial<ServiceOutcome> = {
  granted: 5000,
  validityMs: 60_000,
  action: { type: 'throttle', policy: 'SLOW' },
}
const barred: Partial<ServiceOutcome> = { reason: 'capReached', granted: 0, finalUnit: true }
const REDIRECTION = {
  'Final-Unit-Action': 1,
  'Redirect-Server': { 'Redirect-Address-Type': 2, 'Redirect-Server-Address': PAGE },
}

function answered(request: Tree, ...services: Partial<ServiceOutcome>[]) {
  const decoded = wire.decode(messageOf(request), context)
  if (!decoded.ok) throw new Error(decoded.error.why)
  const asked = decoded.request?.services ?? []
  const outcomes = services.map((more, index) => {
    const { ratingGroup, usaget, serviceIdentifier } = asked[index]!
    return service({ ratingGroup, usaget, serviceIdentifier, ...more })
  })
  const reason = services[0]?.reason ?? 'granted'
  const outcome = { ...plainOutcome(reason), services: outcomes }
  return treeOf(wire.encode(decoded.envelope, outcome))
}

describe('an action of an event rule', () => {
  it('redirects at once: without units, with a validity; a bar has 4012 in its own group', () => {
    const answer = answered(data, redirected, barred)
    expect(answer['Result-Code']).toBe(2001)
    expect(answer['Multiple-Services-Credit-Control']).toEqual([
      {
        'Rating-Group': 10,
        'Validity-Time': 60,
        'Result-Code': 2001,
        'Final-Unit-Indication': REDIRECTION,
      },
      {
        'Service-Identifier': 7,
        'Rating-Group': 20,
        'Result-Code': 4012,
        'Final-Unit-Indication': { 'Final-Unit-Action': 0 },
      },
    ])
  })

  it('names the policy of a throttled service beside its grant, which is not the last one', () => {
    const answer = answered(data, throttled, { granted: 7, validityMs: 60_000 })
    expect(answer['Multiple-Services-Credit-Control']).toEqual([
      {
        'Granted-Service-Unit': { 'CC-Total-Octets': 5000 },
        'Rating-Group': 10,
        'Validity-Time': 60,
        'Result-Code': 2001,
        'Filter-Id': 'SLOW',
      },
      {
        'Granted-Service-Unit': { 'CC-Total-Octets': 7 },
        'Service-Identifier': 7,
        'Rating-Group': 20,
        'Validity-Time': 60,
        'Result-Code': 2001,
      },
    ])
  })

  it('is in the message itself without MSCC', () => {
    const voice = composed['voice, reserved for an event (ECUR)']!
    const redirection = answered(voice, redirected)
    expect(redirection).toMatchObject({ 'Result-Code': 2001, 'Final-Unit-Indication': REDIRECTION })
    expect(redirection).not.toHaveProperty('Granted-Service-Unit')
    expect(answered(voice, throttled)).toMatchObject({
      'Granted-Service-Unit': { 'CC-Time': 5000 },
      'Filter-Id': 'SLOW',
    })
    expect(answered(voice, barred)).toMatchObject({ 'Result-Code': 4012 })
    const event = composed['an SMS, debited immediately (IEC)']!
    expect(answered(event, throttled)).toMatchObject({ 'Result-Code': 2001, 'Filter-Id': 'SLOW' })
    expect(answered(event, barred)).toMatchObject({ 'Result-Code': 4012 })
  })

  it('has the same AVPs as JSON', () => {
    const body = Buffer.from(
      JSON.stringify({
        'Session-Id': 's;1',
        'CC-Request-Type': 1,
        'CC-Request-Number': 0,
        'Subscription-Id': { 'Subscription-Id-Type': 0, 'Subscription-Id-Data': '972501234567' },
        'Multiple-Services-Credit-Control': [
          { 'Rating-Group': 1, 'Requested-Service-Unit': {} },
          { 'Rating-Group': 2, 'Requested-Service-Unit': {} },
        ],
      }),
    )
    const decoded = json.decode(body, context)
    if (!decoded.ok) throw new Error(decoded.error.why)
    const services = [
      service({ ratingGroup: 1, ...throttled }),
      service({ ratingGroup: 2, ...redirected }),
    ]
    const text = json.encode(decoded.envelope, { ...plainOutcome('granted'), services })
    expect(JSON.parse(String(text))).toMatchObject({
      'Multiple-Services-Credit-Control': [
        { 'Rating-Group': 1, 'Filter-Id': 'SLOW' },
        { 'Rating-Group': 2, 'Final-Unit-Indication': REDIRECTION },
      ],
    })
  })
})
