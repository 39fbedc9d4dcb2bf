/** Sessions and peers: who holds reservations, and which network elements are connected. */
import './sessions.css'
import { useEffect, useMemo, useState } from 'preact/hooks'
import { followLive } from '../../api/live.ts'
import { useRead } from '../../api/read.ts'
import type { Page as RecordPage } from '../../api/records.ts'
import { keyOf, type OpenSession, readOpenSessions } from '../../api/sessions.ts'
import { linkHere, location } from '../../frame/routes.ts'
import { FilterForm, NUMBER_INPUT } from '../../parts/filter.tsx'
import { Connections, Refusals } from '../../parts/peers.tsx'
import { ReleaseDialog } from '../../parts/release.tsx'
import { useSelection } from '../../parts/selection.tsx'
import { Age, ReadView, Refused, Skeleton } from '../../parts/state.tsx'
import { t } from '../../words/words.ts'
import { SessionList } from './list.tsx'

/** Fields of the filter: each is a parameter of `/api/sessions`. */
const FILTERS = ['sid', 'aid', 'usaget', 'origin', 'open_for'] as const
const NUMBERS: ReadonlySet<string> = new Set(['sid', 'aid', 'open_for'])

export default function Page() {
  const { query } = location.value
  const address = linkHere({})
  const reading = useRead(address, (signal) => readSessions(query, signal))
  const selection = useSelection(address, keyOf)
  const [releasing, setReleasing] = useState<readonly OpenSession[] | null>(null)
  const { atMs } = reading.state.value
  const isFiltered = Object.keys(query).length > 0
  const released = () => {
    selection.clear()
    reading.reload()
  }
  return (
    <>
      <div class="title">
        <h1 tabIndex={-1}>{t('page.sessions')}</h1>
        {atMs !== null && <Age atMs={atMs} />}
        <button type="button" onClick={() => reading.reload()}>
          {t('sessionlist.reload')}
        </button>
      </div>
      <FilterForm
        label={t('sessionlist.filter')}
        fields={FILTERS.map((name) => ({
          name,
          label: t(`sessionlist.${name}`),
          ...(NUMBERS.has(name) && { input: NUMBER_INPUT }),
        }))}
      />
      <section aria-labelledby="open-sessions">
        <h2 id="open-sessions">{t('sessionlist.open')}</h2>
        <ReadView reading={reading} rows={10}>
          {({ rows: sessions, next }) => (
            <>
              {sessions.length === 0 && (
                <p class="state">{t(emptyText(isFiltered, next !== null))}</p>
              )}
              <SessionList
                sessions={sessions}
                next={next}
                selection={selection}
                onRelease={setReleasing}
              />
            </>
          )}
        </ReadView>
      </section>
      <Peers />
      {releasing !== null && (
        <ReleaseDialog
          sessions={releasing}
          onReleased={released}
          onClose={() => setReleasing(null)}
        />
      )}
    </>
  )
}

function emptyText(isFiltered: boolean, hasMore: boolean) {
  if (hasMore) return 'sessionlist.noneHere'
  return isFiltered ? 'sessionlist.noneFound' : 'sessionlist.none'
}

type Query = Readonly<Record<string, string>>

function readSessions(query: Query, signal: AbortSignal): Promise<RecordPage<OpenSession>> {
  const named = [...FILTERS, 'after'].flatMap((name) => {
    const value = query[name]
    return value === undefined || value === '' ? [] : [[name, value] as const]
  })
  return readOpenSessions(Object.fromEntries(named), signal)
}

function Peers() {
  const follower = useMemo(followLive, [])
  useEffect(() => follower.stop, [follower])
  const { sample, refusal } = follower.state.value
  const isRefused = refusal !== null && refusal.kind !== 'offline'
  if (isRefused && sample === null) return <Refused refusal={refusal} />
  return (
    <>
      {isRefused && <Refused refusal={refusal} />}
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
