/** Overview: whether the system works. */
import { get } from '../../api/client.ts'
import { useRead } from '../../api/read.ts'
import { t } from '../../words/words.ts'

export default function Page() {
  const health = useRead('health', (signal) => get('health/ready', {}, { signal }))
  const { data } = health.state.value
  return (
    <>
      <h1 tabIndex={-1}>{t('page.overview')}</h1>
      <dl>
        {Object.entries(data ?? {}).map(([name, value]) => (
          <>
            <dt>{name}</dt>
            <dd>{String(value)}</dd>
          </>
        ))}
      </dl>
    </>
  )
}
