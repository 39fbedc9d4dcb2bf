/** Network elements with most refusals, by reason. */
import { expect, it } from 'vitest'
import { peerFigures, peerKey } from '../../../src/admin/live/peers.ts'

const plain = (rate: number) => rate

it('the peer with most requests that were not granted comes first, with its reasons', () => {
  const rates = new Map([
    [peerKey('quiet', 'granted', 1), 90],
    [peerKey('loud', 'granted', 1), 10],
    [peerKey('loud', 'denied', -13), 2],
    [peerKey('loud', 'denied', -7), 5],
    [peerKey('loud', 'failed', 500), 0],
    [peerKey('loud', 'refused', 'rate'), 1],
    [peerKey(undefined, 'refused', 'credentials'), 3],
  ])
  expect(peerFigures(rates, plain)).toEqual([
    {
      ...{ peer: 'loud', granted: 10, denied: 7, failed: 0, refused: 1 },
      reasons: [
        { outcome: 'denied', reason: '-7', rate: 5 },
        { outcome: 'denied', reason: '-13', rate: 2 },
        { outcome: 'refused', reason: 'rate', rate: 1 },
      ],
    },
    {
      ...{ peer: '', granted: 0, denied: 0, failed: 0, refused: 3 },
      reasons: [{ outcome: 'refused', reason: 'credentials', rate: 3 }],
    },
    { peer: 'quiet', granted: 90, denied: 0, failed: 0, refused: 0, reasons: [] },
  ])
})

it('at most 20 peers and 8 reasons of each are shown', () => {
  const rates = new Map<string, number>()
  for (let peer = 0; peer < 30; peer += 1) {
    for (let code = 0; code < 10; code += 1) rates.set(peerKey(`p${peer}`, 'denied', code), peer)
  }
  const shown = peerFigures(rates, plain)
  expect(shown.map(({ peer }) => peer)).toEqual(
    Array.from({ length: 20 }, (_, index) => `p${29 - index}`),
  )
  for (const { reasons } of shown) expect(reasons).toHaveLength(8)
})
