import { describe, expect, it } from 'vitest'
import { createRefusalLog, type RefusedRequest } from '../../../src/realtime/http/refusal-log.ts'
import { sourceClassOf } from '../../../src/realtime/http/source-class.ts'

function refusalLogOf() {
  const lines: object[] = []
  let nowMs = 0
  const log = { warn: (what: object, message: string) => lines.push({ ...what, message }) }
  const report = createRefusalLog(log as never, () => nowMs)
  const refuse = (address: string, more: Partial<RefusedRequest> = {}) =>
    report({ peer: '', cause: 'credentials', address, why: 'x-api-key is wrong', ...more })
  const pass = (ms: number) => {
    nowMs += ms
  }
  return { lines, refuse, pass }
}

describe('the log of refusals', () => {
  it('has a line for each address, cause and peer, and counts further ones for a minute', () => {
    const { lines, refuse, pass } = refusalLogOf()
    for (let count = 0; count < 10; count += 1) refuse('192.0.2.1')
    refuse('192.0.2.1', { cause: 'address', peer: 'pgw' })
    refuse('192.0.2.2')
    const line = { peer: '', cause: 'credentials', why: 'x-api-key is wrong' }
    const message = 'a charge request is refused'
    expect(lines).toEqual([
      { ...line, address: '192.0.2.1', message },
      { ...line, address: '192.0.2.1', cause: 'address', peer: 'pgw', message },
      { ...line, address: '192.0.2.2', message },
    ])
    pass(60_000)
    refuse('192.0.2.1')
    expect(lines.at(-1)).toEqual({ ...line, address: '192.0.2.1', repeated: 9, message })
  })

  it('is limited in memory, however many addresses there are', () => {
    const { lines, refuse, pass } = refusalLogOf()
    for (let count = 0; count < 5_000; count += 1) refuse(`2001:db8::${count.toString(16)}`)
    expect(lines).toHaveLength(60)
    pass(60_000)
    refuse('192.0.2.9')
    expect(lines.slice(60)).toEqual([
      { refusals: 4_940, message: 'refusals of further addresses' },
      expect.objectContaining({ address: '192.0.2.9' }),
    ])
  })
})

it.each([
  ['127.0.0.1', 'loopback'],
  ['127.8.9.1', 'loopback'],
  ['::1', 'loopback'],
  ['10.1.2.3', 'private'],
  ['172.16.0.1', 'private'],
  ['172.31.255.255', 'private'],
  ['172.32.0.1', 'public'],
  ['192.168.3.4', 'private'],
  ['192.169.3.4', 'public'],
  ['100.64.0.1', 'private'],
  ['100.128.0.1', 'public'],
  ['169.254.1.1', 'private'],
  ['fd00::1', 'private'],
  ['fe80::1', 'private'],
  ['2001:db8::1', 'public'],
  ['203.0.113.7', 'public'],
  ['', 'unknown'],
])('classifies the address "%s" as %s', (address, source) => {
  expect(sourceClassOf(address)).toBe(source)
})
