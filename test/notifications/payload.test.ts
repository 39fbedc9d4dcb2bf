/** Requests, signatures and answers, without a network. */
import { createHmac, timingSafeEqual } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { Decimal128 } from '../../src/catalog/collections.ts'
import type { NotificationDocument } from '../../src/catalog/records/events/event-document.ts'
import { acceptanceIn } from '../../src/notifications/answer.ts'
import { DeliveryError } from '../../src/notifications/failure.ts'
import { payloadOf } from '../../src/notifications/payload.ts'
import { retryDelayMs } from '../../src/notifications/receiver-queue.ts'
import { type ResolvedReceiver, requestOf } from '../../src/notifications/request.ts'
import { eventOf, NOW_MS } from '../support/notifications/event.ts'

const GET: ResolvedReceiver = {
  url: 'https://crm.example.net/told',
  method: 'get',
  decoder: 'json',
  encoding: 'form',
}
const TIMES = { startMs: NOW_MS + 9_999, signedMs: NOW_MS + 20_500 }

describe('the query of a notification', () => {
  it('has the parameters of the interface, and further fields, and no others', () => {
    const { url, body } = requestOf(eventOf('s1'), GET, null, TIMES)
    const params = Object.fromEntries(new URL(url).searchParams)
    expect(body).toBeUndefined()
    expect({
      ...params,
      extra_params: JSON.parse(params['extra_params'] ?? ''),
      conditions: JSON.parse(params['conditions'] ?? ''),
    }).toEqual({
      event_code: 'HALF',
      event_type: 'balance',
      event_description: 'half of the group is used',
      before: '40',
      after: '60.5',
      based_on: 'usage',
      stamp: 's1',
      start_notify_time: String(NOW_MS / 1000 + 9),
      creation_time: String(NOW_MS / 1000),
      extra_params: {
        aid: 17,
        sid: 18,
        row: { usagev: 20, urt: NOW_MS / 1000, usaget: 'data', stamp: 'line-1' },
      },
      conditions: [
        {
          path: 'balance.groups.G.usagev',
          unit: 'MB',
          usaget: 'data',
          type: 'reached_percentage',
          value: '50',
          paths: [{ path: 'balance.groups.F.usagev' }, { path: 'balance.groups.G.usagev' }],
        },
      ],
      matched_path: 'balance.groups.G.usagev',
      group_total: '100',
      reached_constant: '50',
      reached_constant_percentage: '50',
    })
  })

  it('follows the query of the address, and quotes everything', () => {
    const event = eventOf('s1', { event_code: 'A&B=c d+é' })
    const { url } = requestOf(event, { ...GET, url: `${GET.url}?key=1#x` }, null, TIMES)
    expect(url).toContain('/told?key=1&')
    expect(url).toContain('event_code=A%26B%3Dc%20d%2B%C3%A9')
    expect(new URL(url).hash).toBe('')
  })
})

describe('a condition', () => {
  const sent = (condition: object, matched = 'm') => {
    const event = { ...eventOf('s'), matched_path: matched, conditions: [condition] }
    return payloadOf(event as NotificationDocument, 0)['conditions']
  }

  it.each([
    [{ type: 'is', value: 1, path: 'p' }, 'p'],
    [{ type: 'is', value: 1, paths: [{ path: 'a' }, { path: 'm' }] }, 'm'],
    [{ type: 'is', value: 1, paths: [{ path: 'a' }, { path: 'b' }] }, 'a'],
    [{ type: 'is', value: 1, all_groups: true }, 'm'],
    [{ type: 'is', value: 1 }, ''],
  ])('%j has path %j, and all members of the interface', (condition, path) => {
    expect(sent(condition)).toEqual([
      { path, unit: '', usaget: '', type: 'is', value: 1, ...withoutPath(condition) },
    ])
  })

  const withoutPath = (condition: object) => {
    const { path: _, ...others } = condition as { path?: string }
    return others
  }

  it('of another form is sent as it is', () => {
    expect(sent([{ field: 'usagev', op: 'gt', value: 5 }])).toEqual([
      [{ field: 'usagev', op: 'gt', value: 5 }],
    ])
  })
})

describe('values of MongoDB', () => {
  it('are numbers and seconds: exact amounts, times at any depth', () => {
    const row = { amount: Decimal128.fromString('10.10'), due: new Date(1_500), none: null }
    const event = { ...eventOf('s'), extra_params: { aid: 1, sid: 0, row } }
    const payload = payloadOf(event as unknown as NotificationDocument, 0)
    expect(JSON.stringify(payload['extra_params'])).toBe(
      '{"aid":1,"sid":0,"row":{"amount":10.1,"due":1,"none":null}}',
    )
  })
})

describe('a POST', () => {
  it('is a form by default', () => {
    const call = requestOf(eventOf('s1'), { ...GET, method: 'post' }, null, TIMES)
    expect(call.url).toBe(GET.url)
    expect(call.headers['content-type']).toBe('application/x-www-form-urlencoded')
    const get = requestOf(eventOf('s1'), GET, null, TIMES)
    expect(call.body).toBe(new URL(get.url).search.slice(1))
  })

  it('is JSON by its setting', () => {
    const receiver: ResolvedReceiver = { ...GET, method: 'post', encoding: 'json' }
    const { body = '', headers } = requestOf(eventOf('s1'), receiver, null, TIMES)
    expect(headers['content-type']).toBe('application/json')
    expect(JSON.parse(body)).toEqual(payloadOf(eventOf('s1'), TIMES.startMs))
  })
})

/** The recipe of docs/EVENTS.md. */
function isGenuine(secret: string, header: string, method: string, target: string, body: string) {
  const [, time = '', sent = ''] = /^t=(\d+),v1=([0-9a-f]{64})$/.exec(header) ?? []
  const text = [time, method, target, body].join('\n')
  const expected = createHmac('sha256', secret).update(text).digest()
  const given = Buffer.from(sent, 'hex')
  return given.length === expected.length && timingSafeEqual(given, expected)
}

describe('the signature', () => {
  const SECRET = 'shared with the receiver'

  it.each(['get', 'post'] as const)('of a %s covers time, method, target and body', (method) => {
    const call = requestOf(eventOf('s1'), { ...GET, method }, SECRET, TIMES)
    const header = call.headers['tollgate-signature'] ?? ''
    const { pathname, search } = new URL(call.url)
    const sent = [call.method, `${pathname}${search}`, call.body ?? ''] as const
    expect(header).toMatch(new RegExp(`^t=${NOW_MS / 1000 + 20},`))
    expect(isGenuine(SECRET, header, ...sent)).toBe(true)
    expect(isGenuine('another secret', header, ...sent)).toBe(false)
    for (const index of [0, 1, 2]) {
      const changed = sent.map((part, at) => (at === index ? `${part}x` : part))
      expect(isGenuine(SECRET, header, ...(changed as [string, string, string]))).toBe(false)
    }
  })

  it('is missing without a secret', () => {
    expect(requestOf(eventOf('s1'), GET, null, TIMES).headers).not.toHaveProperty(
      'tollgate-signature',
    )
  })
})

describe('an answer', () => {
  const kindOf = (text: string, decoder: 'json' | 'xml') => {
    try {
      acceptanceIn(Buffer.from(text), decoder)
      return 'accepted'
    } catch (error) {
      if (error instanceof DeliveryError) return error.kind
      throw error
    }
  }

  it.each([
    ['{"success":true}', 'accepted'],
    ['{"success":1,"more":[]}', 'accepted'],
    ['{"success":"1"}', 'accepted'],
    [' {"success":"True"}\n', 'accepted'],
    ['{"success":false}', 'not accepted'],
    ['{"success":"false"}', 'not accepted'],
    ['{"success":0}', 'not accepted'],
    ['{"success":null}', 'not accepted'],
    ['{"success":[true]}', 'not accepted'],
    ['{"success":{"a":1}}', 'not accepted'],
    ['{"status":1}', 'not accepted'],
    ['true', 'not accepted'],
    ['[{"success":true}]', 'not accepted'],
    ['', 'not JSON'],
    ['OK', 'not JSON'],
    ['<html><body>Welcome</body></html>', 'HTML'],
  ])('in JSON %j: %s', (text, kind) => {
    expect(kindOf(text, 'json')).toBe(kind)
  })

  it.each([
    ['<answer><success>1</success></answer>', 'accepted'],
    ['<?xml version="1.0"?><r><a/><success> true </success></r>', 'accepted'],
    ['<success><![CDATA[1]]></success>', 'accepted'],
    ['<r><success>0</success></r>', 'not accepted'],
    ['<r><success>0</success><success>1</success></r>', 'not accepted'],
    ['<r><success><b>1</b></success></r>', 'not accepted'],
    ['<r>1</r>', 'not accepted'],
    ['<r><success>1</success>', 'not XML'],
    ['{"success":true}', 'not XML'],
    ['', 'not XML'],
    ['<!DOCTYPE html><html><br></html>', 'HTML'],
    ['<!DOCTYPE r [<!ENTITY a "1">]><r><success>&a;</success></r>', 'not XML'],
  ])('in XML %j: %s', (text, kind) => {
    expect(kindOf(text, 'xml')).toBe(kind)
  })

  it('is stored up to 1000 characters', () => {
    const text = JSON.stringify({ success: true, more: 'x'.repeat(5_000) })
    expect(acceptanceIn(Buffer.from(text), 'json')).toBe(text.slice(0, 1000))
  })
})

describe('the time before the next attempt', () => {
  it('doubles up to an hour, without jitter', () => {
    const delays = [1, 2, 3, 4, 9, 10, 100].map((attempt) => retryDelayMs(attempt, 10_000, 0))
    expect(delays).toEqual([10_000, 20_000, 40_000, 80_000, 2_560_000, 3_600_000, 3_600_000])
  })

  it('is shorter by up to a half', () => {
    expect(retryDelayMs(1, 10_000, 0.5)).toBe(7_500)
    expect(retryDelayMs(100, 10_000, 0.999_999)).toBe(1_800_002)
  })
})
