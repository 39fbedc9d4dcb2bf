/** Roles as a group of check boxes, and those that exist. */
import { sessionUser } from '../../api/session.ts'
import { t } from '../../words/words.ts'

const BUILT_IN = ['read', 'write', 'reports', 'charge', 'admin'] as const

/** The built-in roles, those that rules name, and further ones; `admin` is the last. */
export function knownRoles(more: readonly string[] = []): readonly string[] {
  const granted = Object.values(sessionUser.value?.actions ?? {}).flatMap(({ roles }) => roles)
  const all = new Set([...BUILT_IN, ...granted, ...more])
  return [...[...all].filter((role) => role !== 'admin'), 'admin']
}

interface RoleBoxesProps {
  readonly roles: readonly string[]
  readonly chosen: readonly string[]
  readonly onChange: (chosen: readonly string[]) => void
  readonly error: string | null
}

export function RoleBoxes({ roles, chosen, onChange, error }: RoleBoxesProps) {
  return (
    <fieldset class="roles" aria-describedby={error === null ? undefined : 'roles-error'}>
      <legend>{t('access.roles')}</legend>
      {roles.map((role) => (
        <label key={role}>
          <input
            type="checkbox"
            checked={chosen.includes(role)}
            onChange={(event) => {
              const others = chosen.filter((each) => each !== role)
              onChange(event.currentTarget.checked ? [...others, role] : others)
            }}
          />
          {role}
        </label>
      ))}
      {error !== null && (
        <small id="roles-error" class="error">
          {error}
        </small>
      )}
    </fieldset>
  )
}
