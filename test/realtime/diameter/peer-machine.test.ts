import { describe, expect, it } from 'vitest'
import {
  dueEvent,
  nextState,
  type PeerEvent,
  type PeerState,
} from '../../../src/realtime/diameter/peer-machine.ts'

const STATES: readonly PeerState[] = [
  'waitCer',
  'open',
  'suspect',
  'finishing',
  'leaving',
  'left',
  'closing',
  'closed',
]

/**
 * The effect of each event in each state, in the order of STATES: the next state and the actions,
 * or `-` for none. Derived independently of the code from RFC 6733 section 5.6 and RFC 3539
 * section 3.4.1.
 */
const EXPECTED: Readonly<Record<PeerEvent, readonly string[]>> = {
  cerAccepted: ['open sendCea up', 'open sendCea', 'open sendCea', '-', '-', '-', '-', '-'],
  cerRefused: [
    'closing sendCea end',
    'closing sendCea end',
    'closing sendCea end',
    '-',
    '-',
    '-',
    '-',
    '-',
  ],
  request: [
    'closed destroy',
    'open dispatch',
    'open dispatch',
    'finishing refuse',
    'leaving refuse',
    'left refuse',
    '-',
    '-',
  ],
  answer: [
    'closed destroy',
    'open match',
    'open match',
    'finishing match',
    'leaving match',
    'left match',
    '-',
    '-',
  ],
  dwr: [
    'closed destroy',
    'open sendDwa',
    'open sendDwa',
    'finishing sendDwa',
    'leaving sendDwa',
    'left sendDwa',
    '-',
    '-',
  ],
  dwa: ['closed destroy', '-', 'open', '-', '-', '-', '-', '-'],
  dpr: [
    'closed destroy',
    'finishing',
    'finishing',
    '-',
    'leaving sendDpa',
    'left sendDpa',
    '-',
    '-',
  ],
  dpa: [
    'closed destroy',
    'open match',
    'open match',
    'finishing match',
    'left',
    'left match',
    '-',
    '-',
  ],
  idle: ['-', 'suspect sendDwr', 'closed destroy', '-', '-', '-', '-', '-'],
  timeout: [
    'closed destroy',
    '-',
    '-',
    'closing sendDpa',
    'closing end',
    'closing end',
    'closed destroy',
    '-',
  ],
  answered: ['-', '-', '-', 'closing sendDpa', '-', 'closing end', '-', '-'],
  stop: ['closed destroy', 'leaving sendDpr', 'leaving sendDpr', '-', '-', '-', '-', '-'],
  protocolError: [...Array(6).fill('closing sendError end'), '-', '-'],
  stalled: [...Array(7).fill('closed destroy'), '-'],
  ended: ['closing end', 'left', 'left', 'left', 'left', '-', 'closing end', '-'],
  disconnected: [...Array(7).fill('closed'), '-'],
}

describe('the state machine of a peer', () => {
  const rows = STATES.flatMap((state, index) =>
    Object.entries(EXPECTED).map(([event, cells]) => ({ state, event, cell: cells[index] })),
  )

  it.each(rows)('$state, $event: $cell', ({ state, event, cell }) => {
    const { state: next, actions } = nextState(state, event as PeerEvent)
    const nothing = next === state && actions.length === 0
    expect(nothing ? '-' : [next, ...actions].join(' ')).toBe(cell)
  })

  it('has an expected result for every state and event', () => {
    for (const cells of Object.values(EXPECTED)) expect(cells).toHaveLength(STATES.length)
  })
})

describe('timers of a state', () => {
  const times = { capabilitiesTimeoutMs: 50, watchdogMs: 300, answerTimeoutMs: 20 }
  const rows: [state: PeerState, afterMs: number, event: string | null][] = [
    ['waitCer', 49, null],
    ['waitCer', 50, 'timeout'],
    ['open', 299, null],
    ['open', 300, 'idle'],
    ['suspect', 299, null],
    ['suspect', 300, 'idle'],
    ['finishing', 19, null],
    ['finishing', 20, 'timeout'],
    ['leaving', 20, 'timeout'],
    ['left', 20, 'timeout'],
    ['closing', 20, 'timeout'],
    ['closed', 99_999, null],
  ]

  it.each(rows)('fire: %s after %d ms: %s', (state, afterMs, event) => {
    const at = { nowMs: 1000 + afterMs, sinceMs: 1000, heardMs: 0, underWay: 0 }
    expect(dueEvent(state, times, at)).toBe(event)
  })

  it.each<[PeerState, string | null]>([
    ['open', 'idle'],
    ['finishing', null],
    ['leaving', null],
    ['left', null],
    ['closing', 'timeout'],
  ])('fire: %s with a request under way: %s', (state, event) => {
    const at = { nowMs: 1300, sinceMs: 1000, heardMs: 0, underWay: 1 }
    expect(dueEvent(state, times, at)).toBe(event)
  })

  it('send DWR to an open peer by the time of its last message', () => {
    const at = { nowMs: 1600, sinceMs: 0, underWay: 0 }
    expect(dueEvent('open', times, { ...at, heardMs: 1301 })).toBeNull()
    expect(dueEvent('open', times, { ...at, heardMs: 1300 })).toBe('idle')
  })
})
