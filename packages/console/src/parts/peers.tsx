/** Network elements: Diameter connections with their state, and requests that were not granted. */
import type { LiveSample } from '../api/live.ts'
import { link } from '../frame/routes.ts'
import { t } from '../words/words.ts'
import { formatShort } from './numbers.ts'
import { type Column, Table } from './table.tsx'

type Connection = LiveSample['diameter']['peers'][number]
type Peer = LiveSample['peers'][number]

export function Connections({ sample }: { readonly sample: LiveSample }) {
  const rows = sample.diameter.peers
  if (rows.length === 0) return <p class="state">{t('peers.noConnections')}</p>
  const columns: Column<Connection>[] = [
    { title: t('peers.peer'), cell: ({ peer }) => peer || t('peers.unknown') },
    { title: t('peers.state'), cell: ({ state }) => state },
    {
      title: t('peers.count'),
      isNumber: true,
      cell: ({ connections }) => formatShort(connections),
    },
    {
      title: t('peers.sessions'),
      cell: ({ peer }) =>
        peer === '' ? (
          ''
        ) : (
          <a href={link('sessions', { origin: `diameter:${peer}` })}>{t('peers.show', { peer })}</a>
        ),
    },
  ]
  return (
    <Table
      caption={t('peers.connections')}
      columns={columns}
      rows={rows}
      keyOf={({ peer, state }) => `${peer} ${state}`}
    />
  )
}

/** Peers with most requests that were not granted come first. */
export function Refusals({ sample }: { readonly sample: LiveSample }) {
  if (sample.peers.length === 0) return <p class="state">{t('peers.noRequests')}</p>
  const rate = (title: string, value: (row: Peer) => number): Column<Peer> => {
    return { title, isNumber: true, cell: (row) => formatShort(value(row)) }
  }
  const columns: Column<Peer>[] = [
    { title: t('peers.peer'), cell: ({ peer }) => peer || t('peers.unknown') },
    rate(t('peers.granted'), ({ granted }) => granted),
    rate(t('peers.denied'), ({ denied }) => denied),
    rate(t('peers.failed'), ({ failed }) => failed),
    rate(t('peers.refused'), ({ refused }) => refused),
    {
      title: t('peers.reasons'),
      cell: ({ reasons }) =>
        reasons.map(({ outcome, reason, rate: perSecond }) => (
          <div key={`${outcome} ${reason}`}>
            {t('peers.reason', {
              outcome: t(`peers.${outcome}`),
              reason,
              rate: formatShort(perSecond),
            })}
          </div>
        )),
    },
  ]
  return (
    <Table
      caption={t('peers.refusals')}
      columns={columns}
      rows={sample.peers}
      keyOf={({ peer }) => peer}
    />
  )
}
