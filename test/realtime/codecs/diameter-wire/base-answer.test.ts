import { describe, expect, it } from 'vitest'
import { problemAnswer } from '../../../../src/realtime/codecs/diameter-wire/base-answer.ts'
import { missingAvp } from '../../../../src/realtime/codecs/diameter-wire/failed-avp.ts'
import {
  avp,
  readMessage,
  type WireAvp,
} from '../../../../src/realtime/codecs/diameter-wire/message.ts'
import { identity } from '../../../support/realtime/codecs/diameter-wire/codecs.ts'
import { data, head } from '../../../support/realtime/codecs/diameter-wire/composed.ts'
import { messageOf, treeOf } from '../../../support/realtime/codecs/diameter-wire/trees.ts'

const answered = (body: Buffer, resultCode: number, why: string, failed: WireAvp | null = null) =>
  problemAnswer(body, { resultCode, why, failed }, identity)
const origin = { 'Origin-Host': identity.originHost, 'Origin-Realm': identity.originRealm }

describe('an error answer', () => {
  it('is returned to a request of any command', () => {
    const header = { command: 999, application: 16777238, hopByHopId: 1, endToEndId: 2 }
    const proxies = [1, 2].map((at) => ({ 'Proxy-Host': `p${at}`, 'Proxy-State': 's' }))
    const body = messageOf({ 'Session-Id': 's;1', 'Proxy-Info': proxies }, header)
    const answer = answered(body, 3001, 'unknown command')
    expect(readMessage(answer)).toMatchObject({ ...header, flags: 0x60 })
    expect(treeOf(answer)).toEqual({
      'Session-Id': 's;1',
      'Result-Code': 3001,
      ...origin,
      'Error-Message': 'unknown command',
      'Proxy-Info': proxies,
    })
  })

  it('of credit control identifies the request', () => {
    const answer = answered(messageOf(data, { flags: 0x90 }), 5012, 'x')
    expect(readMessage(answer).flags).toBe(0)
    expect(treeOf(answer)).toEqual({
      'Session-Id': head['Session-Id'],
      'Result-Code': 5012,
      ...origin,
      'Auth-Application-Id': 4,
      'CC-Request-Type': 2,
      'CC-Request-Number': 3,
      'Error-Message': 'x',
    })
  })

  it('has the failed AVP, or an example of a missing one', () => {
    const tree = (failed = missingAvp(264)) =>
      treeOf(answered(messageOf({}), 5005, 'x', failed))['Failed-AVP']
    expect(tree()).toEqual({ 'Origin-Host': '\0' })
    expect(tree(missingAvp(415))).toEqual({ 'CC-Request-Number': 0 })
    expect(tree(missingAvp(7777, 5))).toEqual({ '5:7777': '' })
    expect(tree(avp(9, Buffer.from('ab'), 3))).toEqual({ '3:9': 'ab' })
  })

  it('is returned to a header without AVPs, and to bytes that are not AVPs', () => {
    for (const rest of ['', '00', 'ffffffffffffffff', '0000010740000007']) {
      const body = Buffer.concat([messageOf({}), Buffer.from(rest, 'hex')])
      expect(treeOf(answered(body, 5014, 'x'))['Result-Code']).toBe(5014)
    }
  })
})
