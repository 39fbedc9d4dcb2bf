/** Network elements: Diameter connections with their state, and refusals by result code. */
import { useEffect, useMemo } from 'preact/hooks'
import { followLive, type LiveSample } from '../../api/live.ts'
import { linkHere } from '../../frame/routes.ts'
import { formatShort } from '../../parts/numbers.ts'
import { Refused, Skeleton } from '../../parts/state.tsx'
import { type Column, Table } from '../../parts/table.tsx'
import { t } from '../../words/words.ts'

type Connection = LiveSample['diameter']['peers'][number]
type Peer = LiveSample['peers'][number]

export function Peers() {
  const follower = useMemo(followLive, [])
  useEffect(() => follower.stop, [follower])
  const { sample, refusal } = follower.state.value
  return (
    <>
      {refusal !== null && refusal.kind !== 'offline' && <Refused refusal={refusal} />}
      <div class="sides">
        <section aria-labelledby="connections">
          <h2 id="connections">{t('peers.connections')}</h2>
          {sample === null ? <Skeleton rows={3} /> : <Connections sample={sample} />}
        </section>
        <section aria-labelledby="refusals">
          <h2 id="refusals">{t('peers.refusals')}</h2>
          {sample === null ? <Skeleton rows={3} /> : <Refusals sample={sample} />}
        </section>
      </div>
    </>
  )
}

function Connections({ sample }: { readonly sample: LiveSample }) {
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
          <a href={linkHere({ origin: `diameter:${peer}`, after: null })}>
            {t('peers.show', { peer })}
          </a>
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

function Refusals({ sample }: { readonly sample: LiveSample }) {
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
            {t('peers.reason', { reason, rate: formatShort(perSecond) })}
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
