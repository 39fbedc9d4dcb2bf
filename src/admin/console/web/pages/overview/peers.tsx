/** Network elements: their refusals with the reasons, and connections of Diameter peers. */
import type { LiveSample } from '../../api/live.ts'
import { formatShort } from '../../parts/numbers.ts'
import { type Column, Table } from '../../parts/table.tsx'
import { isKey, t } from '../../words/words.ts'

type PeerRequests = LiveSample['peers'][number]
type PeerConnection = LiveSample['diameter']['peers'][number]

/** Those with most refusals first. */
export function Peers({ sample }: { readonly sample: LiveSample }) {
  if (sample.peers.length === 0) return <p class="state">{t('overview.noRequests')}</p>
  const rate = (title: string, value: (row: PeerRequests) => number): Column<PeerRequests> => {
    return { title, isNumber: true, cell: (row) => formatShort(value(row)) }
  }
  const columns: Column<PeerRequests>[] = [
    { title: t('overview.peer'), cell: ({ peer }) => nameOf(peer) },
    rate(t('overview.granted'), ({ granted }) => granted),
    rate(t('overview.denied'), ({ denied }) => denied),
    rate(t('overview.failed'), ({ failed }) => failed),
    rate(t('overview.refused'), ({ refused }) => refused),
    { title: t('overview.reasons'), cell: reasonsOf },
  ]
  return (
    <Table
      caption={t('overview.refusals')}
      columns={columns}
      rows={sample.peers}
      keyOf={({ peer }) => peer}
    />
  )
}

function nameOf(peer: string): string {
  return peer === '' ? t('overview.unknownPeer') : peer
}

function reasonsOf({ reasons }: PeerRequests): string {
  const texts = reasons.map(({ outcome, reason, rate }) => {
    const key = `overview.${outcome}`
    const word = isKey(key) ? t(key) : outcome
    return t('overview.reason', { outcome: word, reason, rate: formatShort(rate) })
  })
  return texts.join(', ')
}

export function DiameterPeers({ sample }: { readonly sample: LiveSample }) {
  const rows = sample.diameter.peers
  if (rows.length === 0) return <p class="state">{t('overview.noPeers')}</p>
  const columns: Column<PeerConnection>[] = [
    {
      title: t('overview.peer'),
      cell: ({ peer }) => nameOf(peer),
    },
    { title: t('overview.state'), cell: ({ state }) => state },
    {
      title: t('overview.connections'),
      isNumber: true,
      cell: ({ connections }) => formatShort(connections),
    },
  ]
  return (
    <Table
      caption={t('overview.peers')}
      columns={columns}
      rows={rows}
      keyOf={({ peer, state }) => `${peer} ${state}`}
    />
  )
}
