/** Who sends requests: dialects with their refusals, and connections of Diameter peers. */
import type { LiveSample } from '../../api/live.ts'
import { formatShort } from '../../parts/numbers.ts'
import { type Column, Table } from '../../parts/table.tsx'
import { t } from '../../words/words.ts'

type FileType = LiveSample['file_types'][number]
type PeerConnection = LiveSample['diameter']['peers'][number]

export function Dialects({ sample }: { readonly sample: LiveSample }) {
  const rows = [...sample.file_types].sort((a, b) => refusalsOf(b) - refusalsOf(a))
  if (rows.length === 0) return <p class="state">{t('overview.noRequests')}</p>
  const rate = (title: string, value: (row: FileType) => number): Column<FileType> => {
    return { title, isNumber: true, cell: (row) => formatShort(value(row)) }
  }
  const columns: Column<FileType>[] = [
    { title: t('overview.dialect'), cell: ({ name }) => name },
    rate(t('overview.granted'), ({ granted }) => granted),
    rate(t('overview.denied'), ({ denied }) => denied),
    rate(t('overview.failed'), ({ failed }) => failed),
  ]
  return (
    <Table
      caption={t('overview.dialects')}
      columns={columns}
      rows={rows}
      keyOf={({ name }) => name}
    />
  )
}

function refusalsOf({ denied, failed }: FileType): number {
  return denied + failed
}

export function DiameterPeers({ sample }: { readonly sample: LiveSample }) {
  const rows = sample.diameter.peers
  if (rows.length === 0) return <p class="state">{t('overview.noPeers')}</p>
  const columns: Column<PeerConnection>[] = [
    {
      title: t('overview.peer'),
      cell: ({ peer }) => (peer === '' ? t('overview.unknownPeer') : peer),
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
