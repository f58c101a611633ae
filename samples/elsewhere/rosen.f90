! Rosenbrock's function and its gradient for gradcli, in lines of JSON; see gradcli-protocol(7).
! gfortran rosen.f90 -o rosen; gradcli gradcheck cmd:./rosen x0=[1.2,2]
program rosen
  use, intrinsic :: iso_fortran_env, only: output_unit, real64
  implicit none
  character(len=65536) :: line
  real(real64) :: x(2), s(1), d
  integer :: state
  do
    read (*, '(a)', iostat=state) line
    if (state /= 0) exit
    if (index(line, '"method":"ModelInfo"') > 0) then
      print '(a)', '{"support":{"Evaluate":true,"Gradient":true}}'
    else if (index(line, '"method":"InputSizes"') > 0) then
      print '(a)', '{"inputSizes":[2]}'
    else if (index(line, '"method":"OutputSizes"') > 0) then
      print '(a)', '{"outputSizes":[1]}'
    else
      call read_numbers('"input":[[', x)
      d = x(2) - x(1)**2
      if (index(line, '"method":"Evaluate"') > 0) then
        print '(a,es25.17e3,a)', '{"output":[[', (1 - x(1))**2 + 100 * d**2, ']]}'
      else
        call read_numbers('"sens":[', s)
        x = s(1) * [-2 * (1 - x(1)) - 400 * x(1) * d, 200 * d]
        print '(a,es25.17e3,a,es25.17e3,a)', '{"output":[', x(1), ',', x(2), ']}'
      end if
    end if
    flush (output_unit)
  end do
contains
  subroutine read_numbers(key, numbers)
    character(len=*), intent(in) :: key
    real(real64), intent(out) :: numbers(:)
    associate (start => index(line, key) + len(key))
      read (line(start:start + index(line(start:), ']') - 2), *) numbers
    end associate
  end subroutine
end program
