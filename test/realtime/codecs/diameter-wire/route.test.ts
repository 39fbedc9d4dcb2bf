import { describe, expect, it } from 'vitest'
import { avp, textAvp } from '../../../../src/realtime/codecs/diameter-wire/message.ts'
import { routeOf } from '../../../../src/realtime/codecs/diameter-wire/route.ts'
import { data, head } from '../../../support/realtime/codecs/diameter-wire/composed.ts'
import { avpsOf, bytesOf, messageOf } from '../../../support/realtime/codecs/diameter-wire/trees.ts'

const nowhere = {
  sessionId: '',
  originHost: '',
  originRealm: '',
  destinationHost: '',
  destinationRealm: '',
  originStateId: 0,
  requestType: -1,
}

describe('the route of a request', () => {
  it('is read from its AVPs, at any position', () => {
    const tree = { 'Proxy-Info': { 'Destination-Host': 'inner' }, ...data }
    expect(routeOf(messageOf({ ...tree, 'Destination-Host': 'tg1' }))).toEqual({
      sessionId: head['Session-Id'],
      originHost: 'ctf1.example.net',
      originRealm: 'example.net',
      destinationHost: 'tg1',
      originStateId: 0,
      destinationRealm: 'charging.example.org',
      requestType: 2,
    })
  })

  it('is empty if the request has none', () => {
    expect(routeOf(bytesOf([]))).toEqual(nowhere)
    const state = avp(278, Buffer.from([0, 0, 1, 2]))
    expect(routeOf(bytesOf([state]))).toEqual({ ...nowhere, originStateId: 258 })
    expect(routeOf(bytesOf([avp(278, Buffer.alloc(3))]))).toEqual(nowhere)
    expect(routeOf(bytesOf([avp(264, Buffer.from('of a vendor'), 10415)]))).toEqual(nowhere)
    expect(routeOf(bytesOf([avp(258, Buffer.alloc(3))]))).toEqual(nowhere)
  })

  it('has the first value of each, and ends at an invalid AVP', () => {
    const avps = [textAvp(264, 'a'), textAvp(264, 'b'), ...avpsOf({ 'Origin-Realm': 'r' })]
    const body = bytesOf(avps)
    expect(routeOf(body)).toMatchObject({ originHost: 'a', originRealm: 'r' })
    body.writeUIntBE(3, 20 + 12 + 5, 3)
    expect(routeOf(body)).toEqual({ ...nowhere, originHost: 'a' })
    expect(routeOf(body.subarray(0, 27))).toEqual(nowhere)
  })
})
