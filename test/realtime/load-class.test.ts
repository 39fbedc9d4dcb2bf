import { expect, it } from 'vitest'
import { type ChargeRequest, serviceRequest } from '../../src/domain/charge-request.ts'
import { loadClassOf } from '../../src/realtime/load-class.ts'
import { requestOf } from '../support/realtime/requests.ts'

const of = (kind: ChargeRequest['kind'], service?: Partial<Parameters<typeof serviceRequest>[0]>) =>
  loadClassOf(
    requestOf('s', {
      kind,
      services: service ? [serviceRequest({ usaget: 'data', ...service })] : [],
    }),
  )

const part = (requested: number, used: number) => ({
  usaget: 'call',
  role: 'beside' as const,
  usedBefore: -1,
  requested,
  used,
})

it('a request that ends a session is a termination, whatever it reports', () => {
  expect(of('release')).toBe('termination')
  expect(of('release', { used: 5 })).toBe('termination')
})

it('a request with used units is a report, of any type and in any part', () => {
  for (const kind of ['start', 'update', 'event'] as const) {
    expect(of(kind, { requested: 5, used: 5 })).toBe('report')
    expect(of(kind, { requested: 5, parts: [part(5, 5)] })).toBe('report')
  }
})

it('an update that requests no units is a report', () => {
  expect(of('update', {})).toBe('report')
  expect(of('update', { parts: [part(-1, 0)] })).toBe('report')
})

it('an update that requests units or checks credit is asking', () => {
  expect(of('update', { requested: 5 })).toBe('asking')
  expect(of('update', { parts: [part(5, 0)] })).toBe('asking')
  expect(of('update', { checksCredit: true })).toBe('asking')
  expect(of('update')).toBe('asking')
})

it('starts and events without used units are opening', () => {
  expect(of('start', { requested: 5 })).toBe('opening')
  expect(of('event', { requested: 5 })).toBe('opening')
  expect(of('start')).toBe('opening')
})

it('a pretended request is neither a report nor a termination', () => {
  const services = [serviceRequest({ usaget: 'data', used: 5 })]
  const pretended = (kind: ChargeRequest['kind']) =>
    loadClassOf(requestOf('s', { kind, services, pretend: true }))
  expect((['start', 'event', 'update', 'release'] as const).map(pretended)).toEqual([
    'opening',
    'opening',
    'asking',
    'asking',
  ])
})
