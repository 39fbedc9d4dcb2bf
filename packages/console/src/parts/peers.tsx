/** Network elements: Diameter connections with their state, and requests that were not granted. */
import type { LiveSample } from '../api/live.ts'
import { link } from '../frame/routes.ts'
import { t } from '../words/words.ts'
import { numberColumn, textColumn } from './columns.tsx'
import { formatShort } from './numbers.ts'
import { type Column, Table } from './table.tsx'

type Connection = LiveSample['diameter']['peers'][number]
type Peer = LiveSample['peers'][number]

export function Connections({ sample }: { readonly sample: LiveSample }) {
  const rows = sample.diameter.peers
  if (rows.length === 0) return <p class="state">{t('peers.noConnections')}</p>
  const columns: Column<Connection>[] = [
    textColumn('peers.peer', ({ peer }) => peer || t('peers.unknown')),
    textColumn('peers.state', ({ state }) => state),
    numberColumn('peers.count', ({ connections }) => formatShort(connections)),
    textColumn('peers.sessions', ({ peer }) => {
      if (peer === '') return ''
      const address = link('sessions', { origin: `diameter:${peer}` })
      return <a href={address}>{t('peers.show', { peer })}</a>
    }),
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

const OUTCOMES = ['granted', 'denied', 'failed', 'refused'] as const

/** Peers with most requests that were not granted come first. */
export function Refusals({ sample }: { readonly sample: LiveSample }) {
  if (sample.peers.length === 0) return <p class="state">{t('peers.noRequests')}</p>
  const columns: Column<Peer>[] = [
    textColumn('peers.peer', ({ peer }) => peer || t('peers.unknown')),
    ...OUTCOMES.map((name) => {
      return numberColumn<Peer>(`peers.${name}`, (row) => formatShort(row[name]))
    }),
    textColumn('peers.reasons', ({ reasons }) =>
      reasons.map(({ outcome, reason, rate: perSecond }) => (
        <div key={`${outcome} ${reason}`}>
          {t('peers.reason', {
            outcome: t(`peers.${outcome}`),
            reason,
            rate: formatShort(perSecond),
          })}
        </div>
      )),
    ),
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
