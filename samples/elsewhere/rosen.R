# Rosenbrock's function and its gradient for gradcli, in lines of JSON; see gradcli-protocol(7).
# gradcli gradcheck 'cmd:Rscript rosen.R' x0=[1.2,2]

# Return the numbers that follow a key of a request.
after <- function(line, key) {
  text <- sub(paste0('.*"', key, '":\\[*([^]]*)\\].*'), "\\1", line)
  as.numeric(strsplit(text, ",")[[1]])
}
vector <- function(x) paste0("[", paste(sprintf("%.17g", x), collapse = ","), "]")

answer <- function(method, line) {
  if (method == "ModelInfo") return('{"support":{"Evaluate":true,"Gradient":true}}')
  if (method == "InputSizes") return('{"inputSizes":[2]}')
  if (method == "OutputSizes") return('{"outputSizes":[1]}')
  x <- after(line, "input")
  d <- x[2] - x[1]^2
  if (method == "Evaluate") return(sprintf('{"output":[%s]}', vector((1 - x[1])^2 + 100 * d^2)))
  gradient <- after(line, "sens") * c(-2 * (1 - x[1]) - 400 * x[1] * d, 200 * d)
  sprintf('{"output":%s}', vector(gradient))
}

input <- file("stdin", "r")
while (length(line <- readLines(input, n = 1)) > 0) {
  method <- sub('.*"method":"([A-Za-z]*)".*', "\\1", line)
  cat(answer(method, line), "\n", sep = "")
  flush(stdout())
}
