import { Page } from '../../shared/ui/Page'
import { Empty } from '../../shared/ui/states'

export default function PhysicalAssets() {
  return (
    <Page title="PhysicalAssets">
      <Empty title="This screen is being built" />
    </Page>
  )
}
