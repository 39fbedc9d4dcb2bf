import { beforeEach, describe, expect, it } from 'vitest'
import { deliveries, eventWith, MADE, storeEvents } from '../support/catalog/events.ts'
import { runOn } from '../support/cli/tollgate.ts'
import { useOpened } from '../support/opened.ts'
import { startTestStores } from '../support/recorder/accounts.ts'

const stores = useOpened(startTestStores)

beforeEach(async () => {
  await stores().catalog.events.deleteMany({})
  await stores().catalog.audit.deleteMany({})
  const soon = new Date(Date.now() + 50_000)
  await storeEvents(
    stores().catalog,
    eventWith('a', { delivery: { state: 'dead', attempts: 9, error: 'HTTP status 503' } }),
    eventWith('b', { creation_time: new Date('2026-06-16T00:00:00Z'), aid: 2, sid: 8 }),
    eventWith('c', { delivery: { due: soon }, start_notify_time: new Date(), event_code: 'C' }),
    eventWith('d', { event_type: 'balancePrepaid', delivery: { state: 'delivered' } }),
  )
})

const run = (...args: string[]) => runOn(stores(), ['event', ...args])
const refused = (code: number, text: string) => ({
  code,
  stdout: '',
  stderr: `tollgate: ${text}\n`,
})

describe('tollgate event list', () => {
  it('shows events, the newest first', async () => {
    const { code, stdout, stderr } = await run('list')
    expect([code, stderr]).toEqual([0, ''])
    const [head, newest, ...more] = stdout.trimEnd().split('\n')
    expect(head?.trim().split(/ +/)).toEqual([
      ...['time', 'code', 'type', 'aid', 'sid', 'before', 'after', 'reached'],
      ...['state', 'attempts', 'stamp', 'error'],
    ])
    expect(newest).toMatch(/^ +2026-06-16T00:00:00.000Z +MINUTES_80 +balance +2 +8 +70 +85 +80/)
    expect(more.at(-1)).toMatch(/dead +9 +a +HTTP status 503$/)
  })

  it.each<[string[], string[]]>([
    [['--aid', '2'], ['b']],
    [['--sid', '8'], ['b']],
    [['--code', 'C'], ['c']],
    [['--type', 'balancePrepaid'], ['d']],
    [['--state', 'dead'], ['a']],
    [['--from', '2026-06-15T12:00:01Z'], ['b']],
    [['--to', '2026-06-15T12:00:01Z', '--state', 'delivered'], ['d']],
    [['--aid', '9'], []],
  ])('filters: %j', async (options, stamps) => {
    const { stdout } = await run('list', '--json', ...options)
    expect(JSON.parse(stdout).map(({ stamp }: { stamp: string }) => stamp)).toEqual(stamps)
  })

  it('is bounded, and says that there are more', async () => {
    const { stdout, stderr } = await run('list', '--json', '--limit', '1')
    expect(JSON.parse(stdout)).toMatchObject([
      { stamp: 'b', creation_time: '2026-06-16T00:00:00.000Z', delivery: { state: 'pending' } },
    ])
    expect(stderr).toBe('tollgate: there are more than 1: give filters, or a higher --limit\n')
  })

  it.each([
    [['--state', 'lost'], '--state must be one of pending, delivered, dead, unaddressed'],
    [['--type', 'x'], '--type must be one of balance, balancePrepaid, fraud'],
    [['--from', 'noon'], "--from must be a date, as in 2030-01-31 or ISO 8601, not 'noon'"],
    [['--limit', '10001'], '--limit must be at most 10000, is 10001'],
    [['--aid', 'x'], '--aid must be an integer'],
    [['extra'], "event list: Unexpected argument 'extra'"],
  ])('refuses %j', async (options, why) => {
    const { code, stdout, stderr } = await run('list', ...options)
    expect([code, stdout, stderr]).toEqual([2, '', expect.stringContaining(why)])
  })
})

describe('tollgate event resend', () => {
  it('makes events pending by stamp, audited', async () => {
    expect(await run('resend', 'a', 'd')).toEqual({
      code: 0,
      stdout: '2 events are sent again\n',
      stderr: '',
    })
    const [event] = await stores().catalog.events.find({ stamp: 'a' }).toArray()
    expect(event?.delivery).toEqual({ state: 'pending', due: expect.any(Date), attempts: 0 })
    expect(event?.delivery.due.getTime()).toBeGreaterThan(MADE.getTime())
    expect(await stores().catalog.audit.find().toArray()).toMatchObject([
      { collection: 'events', type: 'resend', new: { stamps: ['a', 'd'] }, user: { by: 'cli' } },
    ])
  })

  it('makes events pending by state', async () => {
    const before = await deliveries(stores().catalog)
    const { code, stdout } = await run('resend', '--state', 'dead', '--aid', '1')
    expect([code, stdout]).toEqual([0, '1 event is sent again\n'])
    expect(await deliveries(stores().catalog)).toEqual({ ...before, a: 'pending 0' })
    expect((await run('resend', '--state', 'dead')).stdout).toBe('0 events are sent again\n')
  })

  it('leaves an event that is being sent, and names unknown ones', async () => {
    expect(await run('resend', 'c', 'x', 'a')).toEqual({
      code: 1,
      stdout: '1 event is sent again\n',
      stderr:
        'tollgate: event c is being sent: nothing is changed\ntollgate: there is no event x\n',
    })
    const { code, stdout } = await run('resend', '--json', 'c', 'x', 'a')
    expect([code, JSON.parse(stdout)]).toEqual([
      1,
      { resent: ['a'], left: ['c'], unknown: ['x'], more: false },
    ])
  })

  it('needs stamps or a state', async () => {
    expect(await run('resend')).toEqual(
      refused(2, 'give the stamps of events, or --state for those in this state'),
    )
    expect(await run('resend', '--aid', '1')).toMatchObject({ code: 2 })
    expect(await run('resend', 'a', '--state', 'dead')).toEqual(
      refused(2, '--state cannot be combined with stamps'),
    )
  })
})
