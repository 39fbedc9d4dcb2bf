/** Network elements, once a second. */
import { useEffect, useMemo } from 'preact/hooks'
import { followLive } from '../../api/live.ts'
import { Connections, Refusals } from '../../parts/peers.tsx'
import { Refused, Skeleton } from '../../parts/state.tsx'
import { t } from '../../words/words.ts'

export function Peers() {
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
